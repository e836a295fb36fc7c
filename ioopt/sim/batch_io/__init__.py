"""The batch I/O simulator: one source for plain Python and for numba (see state)."""
