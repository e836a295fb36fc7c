"""Proven answers: the integer programs, printed and aggregated, and enumeration."""
