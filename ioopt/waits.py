"""Tell for which interval of a schedule another one waited, and which are critical."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from ioopt.timeline import Interval, slack_of


def waits_of(
    items: Sequence[Interval],
    may_wait: Callable[[Interval, Interval], int] = lambda item, other: 1,
) -> list[int]:
    """Return, for each of *items*, the number of the item at whose end it began; -1 if
    none that it can have waited for ended then.

    *may_wait* says how likely the first of two items waited for the second: 0 if it
    cannot have. By default every item may have waited for every other. The critical
    path has its own answer: a critical item waited for the critical one.
    """
    order = sorted(range(len(items)), key=lambda k: items[k].end)
    ends = [items[k].end for k in order]
    found = []
    for k, item in enumerate(items):
        slack = slack_of(item.start)
        best = -1
        most = 0
        for place in range(bisect_left(ends, item.start - slack), len(ends)):
            if ends[place] > item.start + slack:
                break
            other = items[order[place]]
            likely = may_wait(item, other)
            if item.info.get("critical") and other.info.get("critical"):
                likely = max(likely, CERTAIN)
            if order[place] != k and other.start < item.start and likely > most:
                best, most = order[place], likely
        found.append(best)
    return found


CERTAIN = 9


def may_wait(item: Interval, other: Interval) -> int:
    """Return how likely *item* waited for *other*, which ended when it began.

    A task waits for the arrival of a file, then for another task on its node. A
    transfer waits for the end of what happens at its two ends, then for the remote
    link.
    """
    moves = ("remote", "copy", "save")
    if item.kind not in moves:
        if other.resource != item.resource or other.kind == "save":
            return 0
        return 3 if other.kind in moves else 2
    source = item.info.get("source")
    if other.kind not in moves:
        return 3 if other.resource == source else 2 * (other.resource == item.resource)
    if other.label == item.label and source in (other.resource, None):
        return 3
    if other.resource == item.resource:
        return 2
    remote = item.kind != "copy" and other.kind != "copy"
    return 1 if remote else 0


def critical_of(items: Sequence[Interval], waits: Sequence[int]) -> list[int]:
    """Return the numbers of the critical *items*, earliest first.

    If the schedule marks none, they are the last item to end, the item that it waited
    for (*waits*, see :func:`waits_of`), and so on.
    """
    numbers = [k for k, item in enumerate(items) if item.info.get("critical")]
    if not numbers and items:
        k = max(range(len(items)), key=lambda k: items[k].end)
        while k >= 0:
            numbers.insert(0, k)
            k = waits[k]
    return numbers
