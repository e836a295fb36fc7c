"""General 0-1 knapsack: values not proportional to weights, capacities to 1e10 and beyond.

Dynamic programming over a core that grows from the break item outwards, with dominance and linear
bounds (Pisinger, "A minimal algorithm for the 0-1 knapsack problem", Operations Research 45(5),
1997; MINKNAP). Whole numbers only, so that the answer is exact: it is optimal when the list of
states runs empty, and otherwise comes with the bound that the states left at the deadline prove.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING

from ioopt.errors import UsageError
from ioopt.options import Deadline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.int64]

LIMIT = 1 << 62
MAX_STATES = 20_000_000
_BITS = 62
_UP, _SLACK = 1 + 1e-15, 1e-6  # linear bounds are rounded up, never down


@dataclass(frozen=True)
class KnapsackAnswer:
    """Positions chosen (ascending), their value, and a bound that no choice exceeds.

    ``optimal`` is ``value == bound``.
    """

    chosen: tuple[int, ...]
    value: int
    bound: int

    @property
    def optimal(self) -> bool:
        """Whether the value meets the bound."""
        return self.value == self.bound

    @property
    def gap(self) -> float:
        """``(bound - value) / max(value, 1)``."""
        return (self.bound - self.value) / max(self.value, 1)


def solve_knapsack(
    weights: Sequence[int],
    values: Sequence[int],
    capacity: int,
    deadline: Deadline | None = None,
) -> KnapsackAnswer:
    """Choose positions of the greatest total value whose total weight is at most *capacity*.

    Without a *deadline* it runs to the proof. Raises UsageError for numbers that are not whole, for
    negative weights or capacity, or too large for exact 64-bit sums.
    """
    check_numbers(weights, values, capacity)
    free = [k for k, (w, v) in enumerate(zip(weights, values)) if v > 0 and w == 0]
    rest = [k for k, (w, v) in enumerate(zip(weights, values)) if v > 0 and 0 < w <= capacity]
    order = sorted(rest, key=lambda k: (Fraction(-values[k], weights[k]), weights[k], k))
    base = sum(values[k] for k in free)
    found = _Core([weights[k] for k in order], [values[k] for k in order], capacity).solve(
        deadline or Deadline(None)
    )
    chosen = tuple(sorted([*free, *(order[k] for k in found.chosen)]))
    return KnapsackAnswer(chosen, base + found.value, base + found.bound)


def check_numbers(weights: Sequence[int], values: Sequence[int], capacity: int) -> None:
    """Raise UsageError unless the numbers make a knapsack that 64-bit integers hold."""
    if len(weights) != len(values):
        raise UsageError(f"{len(weights)} weights but {len(values)} values")
    for name, numbers in (("weight", weights), ("value", values), ("capacity", [capacity])):
        for number in numbers:
            if not isinstance(number, int) or isinstance(number, bool):
                raise UsageError(f"{name} {number!r} is not a whole number")
    if capacity < 0 or any(weight < 0 for weight in weights):
        raise UsageError("weights and capacity must be 0 or more")
    if sum(weights) + capacity >= LIMIT or sum(abs(value) for value in values) >= LIMIT:
        raise UsageError("weights or values are too large: their sum must stay below 2^62")


@dataclass
class _Stage:
    """Undominated states by rising weight (and so by rising value).

    ``mask`` has the decisions since the last kept stage, a bit a step.
    """

    weight: Array
    value: Array
    mask: Array


@dataclass
class _Best:
    """The best plan so far: a state after *steps* steps, and how it is completed greedily.

    ``add`` further items from the right of the core go in, or ``remove`` from its left come out.
    """

    weight: int
    value: int
    mask: int
    steps: int
    total: int
    add: int = 0
    remove: int = 0


class _Core:
    """Items by falling efficiency; states differ from the break solution inside the core only.

    A state may be too heavy as long as items to the left of the core can still come out.
    """

    def __init__(self, weights: list[int], values: list[int], capacity: int) -> None:
        import numpy as np

        self.capacity = capacity
        self.weights = np.array(weights, np.int64)
        self.values = np.array(values, np.int64)
        self._weight_before = np.concatenate([[0], np.cumsum(self.weights)]).astype(np.int64)
        self._value_before = np.concatenate([[0], np.cumsum(self.values)]).astype(np.int64)
        self.split = int(np.searchsorted(self._weight_before, capacity, "right")) - 1
        self._kept: list[_Stage] = []
        size = len(weights)
        after, before = range(self.split, size), range(self.split - 1, -1, -1)
        self.steps = [
            item for pair in zip_longest(after, before) for item in pair if item is not None
        ]

    def solve(self, deadline: Deadline) -> KnapsackAnswer:
        """Grow the core until no state can beat the best, or the deadline ends it."""
        import numpy as np

        weight = int(self._weight_before[self.split])
        value = int(self._value_before[self.split])
        best = _Best(weight, value, 0, 0, value)
        stage = _Stage(np.array([weight]), np.array([value]), np.zeros(1, np.int64))
        self._kept, right, left = [stage], self.split, self.split - 1
        bound = value
        for count, item in enumerate(self.steps, 1):
            inside = item < self.split
            left, right = (left - 1, right) if inside else (left, right + 1)
            stage = self._extend(stage, item, -1 if inside else 1, (count - 1) % _BITS)
            reach, best = self._judge(stage, left, right, count, best)
            open_ = reach > best.total
            bound = max(best.total, int(reach.max()))
            stage = _Stage(stage.weight[open_], stage.value[open_], stage.mask[open_])
            if len(stage.weight) == 0 or deadline.expired() or len(stage.weight) > MAX_STATES:
                break
            if count % _BITS == 0:
                self._kept.append(stage)
                stage = _Stage(stage.weight, stage.value, np.zeros_like(stage.mask))
        if len(stage.weight) == 0:
            bound = best.total
        return KnapsackAnswer(tuple(self._decode(best)), best.total, bound)

    def _extend(self, stage: _Stage, item: int, sign: int, bit: int) -> _Stage:
        """Both choices for *item*, merged by weight, without dominated states."""
        import numpy as np

        weight = np.concatenate([stage.weight, stage.weight + sign * self.weights[item]])
        value = np.concatenate([stage.value, stage.value + sign * self.values[item]])
        mask = np.concatenate([stage.mask, stage.mask | (1 << bit)])
        # Stable: of states of one weight the better must come first, so sort by value before.
        order = np.lexsort((-value, weight))
        weight, value, mask = weight[order], value[order], mask[order]
        best_before = np.maximum.accumulate(value)
        keep = np.ones(len(value), bool)
        keep[1:] = value[1:] > best_before[:-1]
        return _Stage(weight[keep], value[keep], mask[keep])

    def _judge(
        self, stage: _Stage, left: int, right: int, count: int, best: _Best
    ) -> tuple[Array, _Best]:
        """Linear bound of every state, and the best plan that rounding those bounds down gives."""
        import numpy as np

        size, cut = len(self.weights), int(np.searchsorted(stage.weight, self.capacity, "right"))
        reach = np.full(len(stage.weight), -1, np.int64)
        if cut:
            room = self.capacity - stage.weight[:cut]
            base_w, base_v = self._weight_before[right], self._value_before[right]
            stop = np.searchsorted(self._weight_before[right:], base_w + room, "right") - 1 + right
            gained = stage.value[:cut] + self._value_before[stop] - base_v
            room = room - (self._weight_before[stop] - base_w)
            partial = np.zeros(cut)
            some = stop < size
            partial[some] = room[some] * (self.values[stop[some]] / self.weights[stop[some]])
            reach[:cut] = gained + np.floor(partial * _UP + _SLACK).astype(np.int64)
            k = int(np.argmax(gained))
            if gained[k] > best.total:
                best = _Best(
                    *self._state(stage, k), count, int(gained[k]), add=int(stop[k]) - right
                )
        if cut < len(stage.weight) and left >= 0:
            self._judge_heavy(stage, cut, left, reach)
            taken = self._taken(stage, cut, left)
            value = np.where(taken >= 0, stage.value[cut:] - self._value_before[left + 1]
                             + self._value_before[np.maximum(taken, 0)], -1)  # fmt: skip
            k = int(np.argmax(value))
            if value[k] > best.total:
                best = _Best(*self._state(stage, cut + k), count, int(value[k]),
                             remove=left + 1 - int(taken[k]))  # fmt: skip
        return reach, best

    @staticmethod
    def _state(stage: _Stage, k: int) -> tuple[int, int, int]:
        return int(stage.weight[k]), int(stage.value[k]), int(stage.mask[k])

    def _taken(self, stage: _Stage, cut: int, left: int) -> Array:
        """How many items from the start stay when items left of the core come out until it fits."""
        import numpy as np

        inside = self._weight_before[left + 1]
        room = inside - (stage.weight[cut:] - self.capacity)
        return np.searchsorted(self._weight_before[: left + 2], room, "right") - 1

    def _judge_heavy(self, stage: _Stage, cut: int, left: int, reach: Array) -> None:
        import numpy as np

        stay = self._taken(stage, cut, left)
        fits = stay >= 0
        stay = stay[fits]
        excess = stage.weight[cut:][fits] - self.capacity
        # Item `stay` comes out in part only: what of it may stay is the room left below.
        room = self._weight_before[left + 1] - excess - self._weight_before[stay]
        part = np.zeros(len(stay))
        some = room > 0
        part[some] = room[some] * (self.values[stay[some]] / self.weights[stay[some]])
        lost = self._value_before[left + 1] - self._value_before[stay]
        bound = stage.value[cut:][fits] - lost + np.floor(part * _UP + _SLACK).astype(np.int64)
        reach[cut:][fits] = bound

    def _decode(self, best: _Best) -> list[int]:
        """Positions of the best plan: its decisions, stage by kept stage, undone from the end."""
        import numpy as np

        chosen = set(range(self.split))
        decided = self.steps[: best.steps]
        right = max((k + 1 for k in decided if k >= self.split), default=self.split)
        left = min((k for k in decided if k < self.split), default=self.split)
        chosen |= set(range(right, right + best.add))
        chosen -= set(range(left - best.remove, left))
        weight, mask, end = best.weight, best.mask, best.steps
        while end > 0:
            begin = (end - 1) // _BITS * _BITS
            for bit in range(end - begin):
                if mask >> bit & 1:
                    item = self.steps[begin + bit]
                    weight -= int(self.weights[item]) * (-1 if item < self.split else 1)
                    chosen ^= {item}
            stage, end = self._kept[begin // _BITS], begin
            mask = int(stage.mask[np.searchsorted(stage.weight, weight)])
        return sorted(chosen)
