"""Exact solvers: the integer programs, printed and aggregated, and enumeration."""
