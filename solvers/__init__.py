"""Solvers of instances, one file for each technique.

Solvers never formulate a program; they use those in ``models``.
"""
