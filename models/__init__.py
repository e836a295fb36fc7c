"""Formulations: a file each, named after its system. Models never solve."""
