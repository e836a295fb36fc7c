"""The simulator of batch I/O: kernels of one text for plain Python and for
numba (see ``state``).
"""
