"""Simulate batch I/O; plain Python and numba run the same code (see :mod:`.state`)."""
