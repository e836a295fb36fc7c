"""Formulations of mathematical programs, one file for each modelled system.

A formulation only builds a program; the backends in ``solvers`` solve it.
"""
