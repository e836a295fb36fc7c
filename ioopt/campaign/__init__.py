"""Sweeps and studies: runs over instances, solvers and seeds, stored in a file."""
