"""Run programs on PuLP, MathOpt, CP-SAT and scipy, each in one module."""
