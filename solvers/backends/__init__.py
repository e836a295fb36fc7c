"""Backends: one module for each of PuLP, MathOpt, CP-SAT and scipy, which run
programs.
"""
