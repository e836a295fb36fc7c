"""Hilbert-curve index in any dimension, used to spread neighbouring chunks over storage nodes."""

from collections.abc import Sequence


def hilbert_index(point: Sequence[int], bits: int) -> int:
    """Position of *point* (coordinates from 0 to 2**bits - 1) on the Hilbert curve through its cube.

    Source: Skilling, "Programming the Hilbert curve" (2004); declustering by it: Faloutsos and
    Roseman, "Fractals for secondary key retrieval" (1989), reference [8] of Khanna et al..

    >>> [hilbert_index(p, 1) for p in ((0, 0), (0, 1), (1, 1), (1, 0))]
    [0, 1, 2, 3]
    """
    axes = list(point)
    for shift in range(bits - 1, 0, -1):
        mask = 1 << shift
        for axis in range(len(axes)):
            if axes[axis] & mask:
                axes[0] ^= mask - 1
            else:
                swap = (axes[0] ^ axes[axis]) & (mask - 1)
                axes[0] ^= swap
                axes[axis] ^= swap
    for axis in range(1, len(axes)):
        axes[axis] ^= axes[axis - 1]
    flip = 0
    for shift in range(bits - 1, 0, -1):
        if axes[-1] & (1 << shift):
            flip ^= (1 << shift) - 1
    axes = [value ^ flip for value in axes]
    index = 0
    for shift in range(bits - 1, -1, -1):
        for value in axes:
            index = index << 1 | value >> shift & 1
    return index
