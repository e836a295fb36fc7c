"""How much the tasks of a batch have in common: two statistics, and the draw nearest to a wanted one."""

from collections import Counter
from collections.abc import Callable, Sequence

Requests = tuple[tuple[int, ...], ...]
"""Files of each task."""


def overlap_a(requests: Sequence[Sequence[int]]) -> float:
    """1 - distinct files / requests (rule 10).

    >>> overlap_a([(0, 1), (1, 2)])
    0.25
    """
    total = sum(len(files) for files in requests)
    return 1 - len({file for files in requests for file in files}) / total if total else 0.0


def overlap_b(requests: Sequence[Sequence[int]], groups: Sequence[int]) -> float:
    """Files shared by two tasks of a group / mean files of its tasks, means of groups (rule 10).

    >>> overlap_b([(0, 1), (1, 2)], (0, 0))
    0.5
    """
    shares = []
    for group in sorted(set(groups)):
        members = [files for files, of in zip(requests, groups) if of == group]
        counts = Counter(file for files in members for file in files)
        total = sum(counts.values())
        if len(members) < 2 or not total:
            continue
        pairs = len(members) * (len(members) - 1)
        shared = sum(count * (count - 1) for count in counts.values()) / pairs
        shares.append(shared / (total / len(members)))
    return sum(shares) / len(shares) if shares else 0.0


def nearest(
    low: int,
    high: int,
    draw: Callable[[int], Requests],
    overlap: Callable[[Requests], float],
    wanted: float,
) -> Requests:
    """The draw whose overlap is nearest to *wanted*; the overlap falls as the width grows.

    Bisection, then the widths around its end, since the fall is not strict for one draw.
    """
    first, last = low, high
    while first < last:
        middle = (first + last) // 2
        if overlap(draw(middle)) > wanted:
            first = middle + 1
        else:
            last = middle
    around = range(max(low, first - 4), min(high, first + 4) + 1)
    best = min(around, key=lambda width: (abs(overlap(draw(width)) - wanted), width))
    return draw(best)
