"""What was seen of things alike, and so what to expect of the next one."""

from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

KeyT = TypeVar("KeyT", int, str)


class History(Generic[KeyT]):
    """Amounts by key: bytes of a job's requests, seconds a second expected.

    >>> seen = History()
    >>> seen.add("align", 30.0)
    >>> seen.add("align", 50.0)
    >>> seen.mean("align", 60.0), seen.mean("sort", 60.0)
    (40.0, 60.0)
    """

    def __init__(self) -> None:
        self._rows: dict[KeyT, tuple[float, float]] = {}

    def add(self, key: KeyT, amount: float, weight: float = 1) -> None:
        """*weight* times (or seconds expected) something came to *amount*."""
        before, total = self._rows.get(key, (0, 0.0))
        self._rows[key] = before + weight, total + amount

    def weight(self, key: KeyT) -> float:
        """What has been added in weights, 0 for an unknown key."""
        return self._rows.get(key, (0, 0.0))[0]

    def mean(self, key: KeyT, otherwise: float) -> float:
        """Amount a weight; *otherwise* where nothing has been seen."""
        weight, amount = self._rows.get(key, (0, 0.0))
        return amount / weight if weight else otherwise

    def forget(self, key: KeyT) -> None:
        """Drop a key."""
        self._rows.pop(key, None)

    def state(self) -> list[list[Any]]:
        """As plain values: key, weight, amount."""
        return [[key, weight, amount] for key, (weight, amount) in self._rows.items()]

    @classmethod
    def restore(cls, rows: Sequence[Sequence[Any]]) -> Self:
        """From a :meth:`state`; ValueError when it is none."""
        made = cls()
        made._rows = {key: (weight, amount) for key, weight, amount in rows}
        if not all(weight >= 0 and amount >= 0 for weight, amount in made._rows.values()):
            raise ValueError("amounts below 0")
        return made
