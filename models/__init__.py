"""Formulations: one file each, named after the system they
model. Models never solve.
"""
