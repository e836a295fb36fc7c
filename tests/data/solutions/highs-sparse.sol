Model status
Optimal

# Primal solution values
Feasible
Objective 5.184
# Columns -15
Batch_Exec_Time 5.184 0
T_t0_n0 1 2
T_t1_n0 1 3
T_t4_n0 1 6
Y_n2_n0_f0 1 11
R_f0_n1 1 12
Y_n1_n2_f0 1 19
T_t2_n2 1 24
T_t3_n2 1 25
T_t5_n2 1 27
X_f0_n0 1 28
X_f0_n1 1 29
X_f0_n2 1 30
U_f0_n0 2 31
U_f0_n2 1 33
