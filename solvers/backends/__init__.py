"""Backends: options, status tables and bounds of PuLP and CP-SAT in one place each."""
