Columns
    Index Status        Lower        Upper       Primal         Dual  Type        Name
        0                   0          inf        5.184               Continuous  Batch_Exec_Time
        1                   0            1            0               Integer     R_f0_n0
        2                   0            1            1               Integer     T_t0_n0
        3                   0            1            1               Integer     T_t1_n0
        4                   0            1            0               Integer     T_t2_n0
        5                   0            1            0               Integer     T_t3_n0
        6                   0            1            1               Integer     T_t4_n0
        7                   0            1            0               Integer     T_t5_n0
        8                   0            1            0               Integer     Y_n0_n1_f0
        9                   0            1            0               Integer     Y_n0_n2_f0
       10                   0            1            0               Integer     Y_n1_n0_f0
       11                   0            1            1               Integer     Y_n2_n0_f0
       12                   0            1            1               Integer     R_f0_n1
       13                   0            1            0               Integer     T_t0_n1
       14                   0            1            0               Integer     T_t1_n1
       15                   0            1            0               Integer     T_t2_n1
       16                   0            1            0               Integer     T_t3_n1
       17                   0            1            0               Integer     T_t4_n1
       18                   0            1            0               Integer     T_t5_n1
       19                   0            1            1               Integer     Y_n1_n2_f0
       20                   0            1            0               Integer     Y_n2_n1_f0
       21                   0            1            0               Integer     R_f0_n2
       22                   0            1            0               Integer     T_t0_n2
       23                   0            1            0               Integer     T_t1_n2
       24                   0            1            1               Integer     T_t2_n2
       25                   0            1            1               Integer     T_t3_n2
       26                   0            1            0               Integer     T_t4_n2
       27                   0            1            1               Integer     T_t5_n2
       28                   0            1            1               Integer     X_f0_n0
       29                   0            1            1               Integer     X_f0_n1
       30                   0            1            1               Integer     X_f0_n2
       31                   0            2            2               Continuous  U_f0_n0
       32                   0            2            0               Continuous  U_f0_n1
       33                   0            2            1               Continuous  U_f0_n2
Rows
    Index Status        Lower        Upper       Primal         Dual  Name
        0                -inf            0        -0.62               eq13_n0
        1                -inf            0 -5.55112e-17               eq13_n1
        2                -inf            0       -0.556               eq13_n2
        3                -inf            0           -1               eq1_n0_n1_f0
        4                -inf            0           -1               eq1_n0_n2_f0
        5                -inf            0           -1               eq1_n1_n0_f0
        6                -inf            0            0               eq1_n1_n2_f0
        7                -inf            0            0               eq1_n2_n0_f0
        8                -inf            0           -1               eq1_n2_n1_f0
        9                -inf            0            0               eq2_n0_n1_f0
       10                -inf            0           -3               eq2_n0_n2_f0
       11                -inf            0           -3               eq2_n1_n0_f0
       12                -inf            0           -2               eq2_n1_n2_f0
       13                -inf            0           -2               eq2_n2_n0_f0
       14                -inf            0            0               eq2_n2_n1_f0
       15                -inf            1            1               eq3_f0_n0
       16                -inf            1            0               eq3_f0_n1
       17                -inf            1            1               eq3_f0_n2
       18                   1            1            1               eq4_t0
       19                   1            1            1               eq4_t1
       20                   1            1            1               eq4_t2
       21                   1            1            1               eq4_t3
       22                   1            1            1               eq4_t4
       23                   1            1            1               eq4_t5
       24                   0            0            0               eq5_f0_n0
       25                   0            0            0               eq5_f0_n1
       26                   0            0            0               eq5_f0_n2
       27                -inf            1            1               eq6_f0_n0
       28                -inf            1            1               eq6_f0_n1
       29                -inf            1            1               eq6_f0_n2
       30                -inf            0            0               eq7_t0_f0_n0
       31                -inf            0           -1               eq7_t0_f0_n1
       32                -inf            0           -1               eq7_t0_f0_n2
       33                -inf            0            0               eq7_t1_f0_n0
       34                -inf            0           -1               eq7_t1_f0_n1
       35                -inf            0           -1               eq7_t1_f0_n2
       36                -inf            0           -1               eq7_t2_f0_n0
       37                -inf            0           -1               eq7_t2_f0_n1
       38                -inf            0            0               eq7_t2_f0_n2
       39                -inf            0           -1               eq7_t3_f0_n0
       40                -inf            0           -1               eq7_t3_f0_n1
       41                -inf            0            0               eq7_t3_f0_n2
       42                -inf            0            0               eq7_t4_f0_n0
       43                -inf            0           -1               eq7_t4_f0_n1
       44                -inf            0           -1               eq7_t4_f0_n2
       45                -inf            0           -1               eq7_t5_f0_n0
       46                -inf            0           -1               eq7_t5_f0_n1
       47                -inf            0            0               eq7_t5_f0_n2
       48                   1          inf            1               eq8_f0
       49                  -2          inf           -2               level_n0_n1_f0
       50                  -2          inf           -1               level_n0_n2_f0
       51                  -2          inf            2               level_n1_n0_f0
       52                  -2          inf           -2               level_n1_n2_f0
       53                  -2          inf           -2               level_n2_n0_f0
       54                  -2          inf           -1               level_n2_n1_f0

Model status: Optimal

Objective value: 5.184
