Model status
Optimal

# Primal solution values
Feasible
Objective 5.184
# Columns 34
Batch_Exec_Time 5.184
R_f0_n0 0
T_t0_n0 1
T_t1_n0 1
T_t2_n0 0
T_t3_n0 0
T_t4_n0 1
T_t5_n0 0
Y_n0_n1_f0 0
Y_n0_n2_f0 0
Y_n1_n0_f0 0
Y_n2_n0_f0 1
R_f0_n1 1
T_t0_n1 0
T_t1_n1 0
T_t2_n1 0
T_t3_n1 0
T_t4_n1 0
T_t5_n1 0
Y_n1_n2_f0 1
Y_n2_n1_f0 0
R_f0_n2 0
T_t0_n2 0
T_t1_n2 0
T_t2_n2 1
T_t3_n2 1
T_t4_n2 0
T_t5_n2 1
X_f0_n0 1
X_f0_n1 1
X_f0_n2 1
U_f0_n0 2
U_f0_n1 0
U_f0_n2 1
# Rows 55
eq13_n0 -0.62
eq13_n1 0
eq13_n2 -0.556
eq1_n0_n1_f0 -1
eq1_n0_n2_f0 -1
eq1_n1_n0_f0 -1
eq1_n1_n2_f0 0
eq1_n2_n0_f0 0
eq1_n2_n1_f0 -1
eq2_n0_n1_f0 0
eq2_n0_n2_f0 -3
eq2_n1_n0_f0 -3
eq2_n1_n2_f0 -2
eq2_n2_n0_f0 -2
eq2_n2_n1_f0 0
eq3_f0_n0 1
eq3_f0_n1 0
eq3_f0_n2 1
eq4_t0 1
eq4_t1 1
eq4_t2 1
eq4_t3 1
eq4_t4 1
eq4_t5 1
eq5_f0_n0 0
eq5_f0_n1 0
eq5_f0_n2 0
eq6_f0_n0 1
eq6_f0_n1 1
eq6_f0_n2 1
eq7_t0_f0_n0 0
eq7_t0_f0_n1 -1
eq7_t0_f0_n2 -1
eq7_t1_f0_n0 0
eq7_t1_f0_n1 -1
eq7_t1_f0_n2 -1
eq7_t2_f0_n0 -1
eq7_t2_f0_n1 -1
eq7_t2_f0_n2 0
eq7_t3_f0_n0 -1
eq7_t3_f0_n1 -1
eq7_t3_f0_n2 0
eq7_t4_f0_n0 0
eq7_t4_f0_n1 -1
eq7_t4_f0_n2 -1
eq7_t5_f0_n0 -1
eq7_t5_f0_n1 -1
eq7_t5_f0_n2 0
eq8_f0 1
level_n0_n1_f0 -2
level_n0_n2_f0 -1
level_n1_n0_f0 2
level_n1_n2_f0 -2
level_n2_n0_f0 -2
level_n2_n1_f0 -1

# Dual solution values
None

# Basis
HiGHS_basis_file v2
None
