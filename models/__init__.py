"""Formulate programs: one file for each modelled system. Models never solve."""
