"""Sweeps and studies: many runs over instances, solvers and seeds, stored in one
file.
"""
