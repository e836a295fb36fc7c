Problem:    
Rows:       56
Columns:    34 (30 integer, 30 binary)
Non-zeros:  193
Status:     INTEGER EMPTY
Objective:  OBJ = 0 (MINimum)

   No.   Row name        Activity     Lower bound   Upper bound
------ ------------    ------------- ------------- -------------
     1 no                          0                           1 
     2 eq13_n0                     0                           0 
     3 eq13_n1                     0                           0 
     4 eq13_n2                     0                           0 
     5 eq1_n0_n1_f0                0                           0 
     6 eq1_n0_n2_f0                0                           0 
     7 eq1_n1_n0_f0                0                           0 
     8 eq1_n1_n2_f0                0                           0 
     9 eq1_n2_n0_f0                0                           0 
    10 eq1_n2_n1_f0                0                           0 
    11 eq2_n0_n1_f0                0                           0 
    12 eq2_n0_n2_f0                0                           0 
    13 eq2_n1_n0_f0                0                           0 
    14 eq2_n1_n2_f0                0                           0 
    15 eq2_n2_n0_f0                0                           0 
    16 eq2_n2_n1_f0                0                           0 
    17 eq3_f0_n0                   0                           1 
    18 eq3_f0_n1                   0                           1 
    19 eq3_f0_n2                   0                           1 
    20 eq4_t0                      0             1             = 
    21 eq4_t1                      0             1             = 
    22 eq4_t2                      0             1             = 
    23 eq4_t3                      0             1             = 
    24 eq4_t4                      0             1             = 
    25 eq4_t5                      0             1             = 
    26 eq5_f0_n0                   0             0             = 
    27 eq5_f0_n1                   0             0             = 
    28 eq5_f0_n2                   0             0             = 
    29 eq6_f0_n0                   0                           1 
    30 eq6_f0_n1                   0                           1 
    31 eq6_f0_n2                   0                           1 
    32 eq7_t0_f0_n0                0                           0 
    33 eq7_t0_f0_n1                0                           0 
    34 eq7_t0_f0_n2                0                           0 
    35 eq7_t1_f0_n0                0                           0 
    36 eq7_t1_f0_n1                0                           0 
    37 eq7_t1_f0_n2                0                           0 
    38 eq7_t2_f0_n0                0                           0 
    39 eq7_t2_f0_n1                0                           0 
    40 eq7_t2_f0_n2                0                           0 
    41 eq7_t3_f0_n0                0                           0 
    42 eq7_t3_f0_n1                0                           0 
    43 eq7_t3_f0_n2                0                           0 
    44 eq7_t4_f0_n0                0                           0 
    45 eq7_t4_f0_n1                0                           0 
    46 eq7_t4_f0_n2                0                           0 
    47 eq7_t5_f0_n0                0                           0 
    48 eq7_t5_f0_n1                0                           0 
    49 eq7_t5_f0_n2                0                           0 
    50 eq8_f0                      0             1               
    51 level_n0_n1_f0
                                   0            -2               
    52 level_n0_n2_f0
                                   0            -2               
    53 level_n1_n0_f0
                                   0            -2               
    54 level_n1_n2_f0
                                   0            -2               
    55 level_n2_n0_f0
                                   0            -2               
    56 level_n2_n1_f0
                                   0            -2               

   No. Column name       Activity     Lower bound   Upper bound
------ ------------    ------------- ------------- -------------
     1 Batch_Exec_Time
                                   0             0               
     2 R_f0_n0      *              0             0             1 
     3 T_t0_n0      *              0             0             1 
     4 T_t1_n0      *              0             0             1 
     5 T_t2_n0      *              0             0             1 
     6 T_t3_n0      *              0             0             1 
     7 T_t4_n0      *              0             0             1 
     8 T_t5_n0      *              0             0             1 
     9 Y_n0_n1_f0   *              0             0             1 
    10 Y_n0_n2_f0   *              0             0             1 
    11 Y_n1_n0_f0   *              0             0             1 
    12 Y_n2_n0_f0   *              0             0             1 
    13 R_f0_n1      *              0             0             1 
    14 T_t0_n1      *              0             0             1 
    15 T_t1_n1      *              0             0             1 
    16 T_t2_n1      *              0             0             1 
    17 T_t3_n1      *              0             0             1 
    18 T_t4_n1      *              0             0             1 
    19 T_t5_n1      *              0             0             1 
    20 Y_n1_n2_f0   *              0             0             1 
    21 Y_n2_n1_f0   *              0             0             1 
    22 R_f0_n2      *              0             0             1 
    23 T_t0_n2      *              0             0             1 
    24 T_t1_n2      *              0             0             1 
    25 T_t2_n2      *              0             0             1 
    26 T_t3_n2      *              0             0             1 
    27 T_t4_n2      *              0             0             1 
    28 T_t5_n2      *              0             0             1 
    29 X_f0_n0      *              0             0             1 
    30 X_f0_n1      *              0             0             1 
    31 X_f0_n2      *              0             0             1 
    32 U_f0_n0                     0             0             2 
    33 U_f0_n1                     0             0             2 
    34 U_f0_n2                     0             0             2 

Integer feasibility conditions:

KKT.PE: max.abs.err = 0.00e+00 on row 0
        max.rel.err = 0.00e+00 on row 0
        High quality

KKT.PB: max.abs.err = 1.00e+00 on row 20
        max.rel.err = 5.00e-01 on row 20
        SOLUTION IS INFEASIBLE

End of output
