"""The best order of I/O for given starts: an event-order program in
continuous time (ours).

Chain j is a job whose start is given: requests i of v_i bytes at r_i at most, with
computing between. The points p are the issues and the finishes of all requests;
any optimum may keep its rates between neighbouring points, so these say
everything. Parameters, in seconds of the whole storage: v_i, and rho_i = r_i /
BW_max; every point lies in a window [early_p, late_p], late_p being early_p and
the most that the jobs may lose together in a known schedule. Variables: t_p, the
time of a finish (an issue follows it by the computing between); W_ip, what i has
moved by p; b_pq 0/1, p is not after q.

Minimise the sum of the last t_p (less the constant that makes it the total delay), so that where p is
not after q

(1) t_p <= t_q;  (2) 0 <= W_iq - W_ip <= rho_i (t_q - t_p);  (3) sum_i (W_iq - W_ip) <= t_q - t_p.

W is 0 up to the issue and v_i from the finish on. An order that windows or a chain fix
has no b_pq, and its rows stand only where no third point is known to lie between.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ioopt.models.batch_io.prices import Chain
from ioopt.models.program import Number, Program, Term


class Point(NamedTuple):
    """A finish or an issue: variable (None: a constant) plus ``lag``, window, chain,
    place in it, and which request of the chain ends and which begins there."""

    finish: int | None
    lag: float
    early: float
    late: float
    chain: int
    place: int
    ends: int | None = None
    begins: int | None = None


Linear = dict[int, float]
"""Factors by variable; -1 is the constant."""


class IoOrderModel:
    """The program; ``most`` is the total delay of a schedule that is known."""

    def __init__(
        self, chains: Sequence[Chain], most: float, least: float = 0.0
    ) -> None:
        self.program = Program("io_order")
        self.chains, self.most = chains, most
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
        """The points of a chain and their windows."""
        early, last = chain.begin, len(chain.steps) - 1
        self.points.append(Point(None, early, early, early, j, 0, None, 0))
        for k, step in enumerate(chain.steps):
            early += step.amount / step.share
            at = self.program.real(f"t_{j}_{k}", early, early + self.most)
            place, following = self.points[-1].place + 1, k + 1 if k < last else None
            late, joined = early + self.most, following if not step.after else None
            self.points.append(Point(at, 0.0, early, late, j, place, k, joined))
            early += step.after
            if following and joined is None:
                late = early + self.most
                self.points.append(
                    Point(at, step.after, early, late, j, place + 1, None, following)
                )
        self.lasts.append(at)
        self.ideal += early - chain.steps[-1].after

    def _amounts(self, p: int) -> dict[tuple[int, int], Linear]:
        """W_ip of each request that some point may see half done."""
        point, found = self.points[p], {}
        for j, chain in enumerate(self.chains):
            early, place = chain.begin, 0
            for k, step in enumerate(chain.steps):
                done = early + step.amount / step.share
                late_done = done + self.most
                whole = {-1: step.amount}
                if j == point.chain:
                    found[j, k] = whole if point.place > place else {}
                elif point.late <= early:
                    found[j, k] = {}
                elif point.early >= late_done:
                    found[j, k] = whole
                else:
                    at = self.program.real(f"W_{j}_{k}_{p}", 0.0, step.amount)
                    found[j, k] = {at: 1.0}
                place += 1 + (step.after > 0 and k + 1 < len(chain.steps))
                early = done + step.after
        return found

    def _known(self, p: int, q: int) -> bool:
        """Whether p is not after q whatever happens; of two that
        coincide, the first is not.
        """
        first, second = self.points[p], self.points[q]
        if first.chain == second.chain:
            return first.place < second.place
        return first.late <= second.early and (p < q or first.early < second.late)

    def _orders(self) -> None:
        """A pair of points: in its known order, or either way round by b_pq."""
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
        """(1) to (3) for p not after q, where *order* says so."""
        first, second = self.points[p], self.points[q]
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
        """factor x more - less >= 0, or at least -slack where
        *order* says otherwise.
        """
        left = _less({at: factor * value for at, value in more.items()}, less)
        right = -left.pop(-1, 0.0)
        terms: list[Term] = [(at, value) for at, value in left.items() if value]
        if order is not None:
            at, forward = order
            terms.append((at, -slack if forward else slack))
            right -= slack if forward else 0
        if terms:
            self.program.add(name, terms, right)

    def rates(self, values: Mapping[int, Number]) -> list[dict[tuple[int, int], float]]:
        """Shares of the storage of all outstanding requests (chain, place), span by
        span, of a solution.
        """
        times = [
            sum(value * _of(values, at) for at, value in _time(p).items())
            for p in self.points
        ]
        order = sorted(
            range(len(times)), key=lambda p: (times[p], self.points[p].place)
        )
        found, here = [], set()
        for p, q in pairwise(order):
            point, span = self.points[p], times[q] - times[p]
            here.discard((point.chain, -1 if point.ends is None else point.ends))
            if point.begins is not None:
                here.add((point.chain, point.begins))
            if span <= 1e-9 * self.most:
                continue
            shares = {}
            for i in sorted(here):
                change = _less(self.moved[q][i], self.moved[p][i])
                part = (
                    sum(value * _of(values, at) for at, value in change.items()) / span
                )
                shares[i] = min(max(0.0, part), self.chains[i[0]].steps[i[1]].share)
            over = max(1.0, sum(shares.values()))
            found.append({i: share / over for i, share in shares.items()})
        return found


def _of(values: Mapping[int, Number], at: int) -> Number:
    return 1.0 if at < 0 else values[at]


def _time(point: Point) -> Linear:
    return (
        {-1: point.lag} if point.finish is None else {point.finish: 1.0, -1: point.lag}
    )


def _less(one: Linear, other: Linear, factor: float = 1.0) -> Linear:
    """one - factor x other."""
    found = dict(one)
    for at, value in other.items():
        found[at] = found.get(at, 0.0) - factor * value
    return found
