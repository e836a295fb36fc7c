"""Formulations, one file each, named after the system they model; they never solve."""
