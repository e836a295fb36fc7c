"""Simulate batch I/O. Plain Python and numba run the same code (see :mod:`.state`).
Rule numbers refer to docs/rules/batch-io.md.
"""
