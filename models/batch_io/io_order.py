"""Find the best order of I/O for given starts: an event-order program (ours).

Time is continuous. Chain j is a job whose start is given: requests i of v_i bytes at a
rate of at most r_i, with computing between them. The points p are the issues and
finishes of all requests. Some optimum has constant rates between neighbouring points,
so the program needs no other times. Parameters, in seconds of the whole storage: v_i,
and rho_i = r_i / BW_max. Every point lies in a window [early_p, late_p], where late_p
is early_p plus the total delay of a known schedule. Variables: t_p, the time of a
finish (an issue follows it by the computing between); W_ip, what i has moved by p;
b_pq 0/1, p is not after q.

Minimise the sum of the last t_p (less a constant that makes it the total delay), so
that, where p is not after q,

(1) t_p <= t_q
(2) 0 <= W_iq - W_ip <= rho_i (t_q - t_p)
(3) sum_i (W_iq - W_ip) <= t_q - t_p

W is 0 up to the issue and v_i from the finish on. An order that windows or a chain fix
has no b_pq; its rows are left out where a third point is known to lie between.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ioopt.models.batch_io.prices import Chain
from ioopt.models.program import Number, Program, Term


class Point(NamedTuple):
    """Represent a finish or an issue at the time of a variable plus ``lag``.

    Without a variable ``lag`` is the time. ``early`` and ``late`` are its window;
    ``place`` is its number in its chain; ``ends`` and ``begins`` are the requests of
    the chain that end and begin there.
    """

    finish: int | None
    lag: float
    early: float
    late: float
    chain: int
    place: int
    ends: int | None = None
    begins: int | None = None


Linear = dict[int, float]
"""A linear expression: factors by variable; -1 stands for the constant."""


class IoOrderModel:
    """Build the program; ``most`` is the total delay in seconds of a known schedule."""

    def __init__(
        self, chains: Sequence[Chain], most: float, least: float = 0.0
    ) -> None:
        self.program = Program("io_order")
        self.chains = chains
        self.most = most
        self.ideal = 0.0
        self.lasts: list[int] = []
        self.points: list[Point] = []
        for j, chain in enumerate(chains):
            self._chain(j, chain)
        self.program.objective = dict.fromkeys(self.lasts, 1)
        total = [(at, 1) for at in self.lasts]
        self.program.add("total", total, self.ideal + least, self.ideal + most)
        self.moved = [self._amounts(p) for p in range(len(self.points))]
        self._orders()

    def _chain(self, j: int, chain: Chain) -> None:
        """Add the points of chain *j*, and the window of each."""
        early = chain.begin
        last = len(chain.steps) - 1
        self.points.append(Point(None, early, early, early, j, 0, None, 0))
        for k, step in enumerate(chain.steps):
            early += step.amount / step.share
            at = self.program.real(f"t_{j}_{k}", early, early + self.most)
            place = self.points[-1].place + 1
            late = early + self.most
            if k < last and not step.after:  # The next request is issued at once.
                self.points.append(Point(at, 0.0, early, late, j, place, k, k + 1))
                continue
            self.points.append(Point(at, 0.0, early, late, j, place, k))
            early += step.after
            if k < last:
                late = early + self.most
                self.points.append(
                    Point(at, step.after, early, late, j, place + 1, None, k + 1)
                )
        self.lasts.append(at)
        self.ideal += early - chain.steps[-1].after

    def _amounts(self, p: int) -> dict[tuple[int, int], Linear]:
        """Return W_ip by request i: a variable if p may lie within i, else a number."""
        point = self.points[p]
        found: dict[tuple[int, int], Linear] = {}
        for j, chain in enumerate(self.chains):
            early = chain.begin
            place = 0
            for k, step in enumerate(chain.steps):
                done = early + step.amount / step.share
                late_done = done + self.most
                if j == point.chain:
                    before = point.place <= place
                    after = not before
                else:
                    before = point.late <= early
                    after = point.early >= late_done
                if before:
                    found[j, k] = {}
                elif after:
                    found[j, k] = {-1: step.amount}
                else:
                    at = self.program.real(f"W_{j}_{k}_{p}", 0.0, step.amount)
                    found[j, k] = {at: 1.0}
                place += 1
                if step.after > 0 and k + 1 < len(chain.steps):
                    place += 1
                early = done + step.after
        return found

    def _known(self, p: int, q: int) -> bool:
        """Return whether p is never after q, also if both are fixed at one time."""
        first = self.points[p]
        second = self.points[q]
        if first.chain == second.chain:
            return first.place < second.place
        if first.late > second.early:
            return False
        return p < q or first.early < second.late

    def _orders(self) -> None:
        """Add the rows of each pair of points, for its known order or with its b_pq."""
        points = self.points
        size = len(points)
        known = [[self._known(p, q) for q in range(size)] for p in range(size)]
        for p in range(size):
            for q in range(size):
                if known[p][q]:
                    if not any(known[p][r] and known[r][q] for r in range(size)):
                        self._between(p, q, None)
                elif p < q and not known[q][p]:
                    order = self.program.binary(f"b_{p}_{q}")
                    self._between(p, q, (order, True))
                    self._between(q, p, (order, False))

    def _between(self, p: int, q: int, order: tuple[int, bool] | None) -> None:
        """Add (1) to (3) for p not after q.

        With an *order* they constrain only if the variable of *order* has the matching
        value.
        """
        first = self.points[p]
        second = self.points[q]
        gap = _less(_time(second), _time(first))
        most = max(0.0, first.late - second.early)
        name = f"{p}_{q}"
        self._row(f"time_{name}", gap, {}, order, most)
        total: Linear = {}
        for i, later in self.moved[q].items():
            step = self.chains[i[0]].steps[i[1]]
            change = _less(later, self.moved[p][i])
            if not any(change.values()):
                continue
            total = _less(total, change, -1.0)
            label = f"{i[0]}_{i[1]}_{name}"
            self._row(f"grow_{label}", change, {}, order, step.amount)
            self._row(
                f"rate_{label}", gap, change, order, most * step.share, step.share
            )
        if total:
            self._row(f"storage_{name}", gap, total, order, most)

    def _row(
        self,
        name: str,
        more: Linear,
        less: Linear,
        order: tuple[int, bool] | None,
        slack: float,
        factor: float = 1.0,
    ) -> None:
        """Add factor x more - less >= 0.

        If the variable of *order* has the other value, the limit is only -*slack*.
        """
        left = _less({at: factor * value for at, value in more.items()}, less)
        right = -left.pop(-1, 0.0)
        terms: list[Term] = [(at, value) for at, value in left.items() if value]
        if order is not None:
            at, forward = order
            if forward:
                terms.append((at, -slack))
                right -= slack
            else:
                terms.append((at, slack))
        if terms:
            self.program.add(name, terms, right)

    def rates(self, values: Mapping[int, Number]) -> list[dict[tuple[int, int], float]]:
        """Return the shares of the storage in each time span of a solution.

        A span has a share for each outstanding request (chain, number in the chain).
        """
        times = [_value(_time(point), values) for point in self.points]
        order = sorted(
            range(len(times)), key=lambda p: (times[p], self.points[p].place)
        )
        found = []
        here: set[tuple[int, int]] = set()
        for p, q in pairwise(order):
            point = self.points[p]
            span = times[q] - times[p]
            if point.ends is not None:
                here.discard((point.chain, point.ends))
            if point.begins is not None:
                here.add((point.chain, point.begins))
            if span <= 1e-9 * self.most:
                continue
            shares = {}
            for i in sorted(here):
                change = _less(self.moved[q][i], self.moved[p][i])
                part = _value(change, values) / span
                shares[i] = min(max(0.0, part), self.chains[i[0]].steps[i[1]].share)
            over = max(1.0, sum(shares.values()))
            found.append({i: share / over for i, share in shares.items()})
        return found


def _value(expression: Linear, values: Mapping[int, Number]) -> Number:
    """Return the value of a linear expression at a solution."""
    total: Number = 0
    for at, factor in expression.items():
        total += factor * (1.0 if at < 0 else values[at])
    return total


def _time(point: Point) -> Linear:
    """Return the time of a point as a linear expression."""
    if point.finish is None:
        return {-1: point.lag}
    return {point.finish: 1.0, -1: point.lag}


def _less(one: Linear, other: Linear, factor: float = 1.0) -> Linear:
    """Return one - factor x other."""
    found = dict(one)
    for at, value in other.items():
        found[at] = found.get(at, 0.0) - factor * value
    return found
