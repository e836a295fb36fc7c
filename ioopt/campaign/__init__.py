"""Sweeps over instances, solvers and seeds."""
