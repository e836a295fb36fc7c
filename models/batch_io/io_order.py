"""Find the best order of I/O for given starts: an event-order program (ours).

Time is continuous. A chain j holds the I/O of one job whose start is given: requests
with computing between them. A point is an instant at which a request is issued or
finishes. Some optimum has constant rates between neighbouring points, so the program
needs no other times.

Data, in seconds of the whole storage:

- v_i is the amount that request i moves.
- rho_i is its peak rate as a share of the storage's rate.
- Point p lies between early_p and late_p. late_p is early_p plus the total delay of a
  known schedule.

Variables:

- t_p is the time at which a request finishes. The next request of the chain is issued
  after the computing between them.
- W_ip is the amount that request i has moved by point p. It is 0 up to the issue of the
  request and v_i from its finish on.
- b_pq is 1 if point p is not after point q, else 0.

The objective, to be minimised, is the sum of the times at which the chains finish their
last requests. It differs from the total delay only by a constant. The constraints for
points p and q, where p is not after q:

(1) t_p <= t_q
(2) 0 <= W_iq - W_ip <= rho_i (t_q - t_p) for every request i
(3) sum over the requests i of (W_iq - W_ip) <= t_q - t_p

Constraint (1) orders the points, (2) limits the rate of each request, and (3) limits
the rate of all requests together to the storage's rate. A pair whose order is known
from its windows or its chain has no b_pq. It has no constraints either if a third point
is known to lie between the two.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ioopt.models.batch_io.prices import Chain
from ioopt.models.program import Number, Program, Term


class Point(NamedTuple):
    """Represent an instant at which a request is issued or finishes.

    Its time is the variable ``finish`` plus ``lag`` seconds, or ``lag`` alone if there
    is no variable. ``early`` and ``late`` limit the time. ``chain`` is the number of
    its chain, ``place`` its number in the chain. ``ends`` and ``begins`` are the
    requests of the chain that finish and are issued at this instant.
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
"""A linear expression: the factor of each variable, where -1 stands for the constant.
"""


class IoOrderModel:
    """Build the event-order program of *chains*.

    ``most`` is the total delay of a known schedule and ``least`` a lower bound of it,
    both in seconds.
    """

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
        """Add the points of chain *j*, each with its earliest and latest time."""
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
        """Return, for each request, the amount W_ip that it has moved by point *p*.

        A request is the pair (chain, number in the chain). The amount is a variable if
        *p* may lie within the request. Otherwise it is the constant 0 or the whole
        amount.
        """
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
        """Return whether point *p* is known not to be after point *q*.

        Of two points that are fixed at the same time, the one with the lower number
        counts as first.
        """
        first = self.points[p]
        second = self.points[q]
        if first.chain == second.chain:
            return first.place < second.place
        if first.late > second.early:
            return False
        return p < q or first.early < second.late

    def _orders(self) -> None:
        """Add the constraints of every pair of points: directly if their order is
        known, with a variable b_pq otherwise.
        """
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
        """Add constraints (1) to (3) for point *p* not after point *q*.

        *order* is None, or (variable, value): then the constraints apply only where the
        variable b has this value.
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
        """Add the constraint factor x more - less >= 0.

        *order* is None, or (variable, value): where the variable has the other value,
        the expression may be as low as -*slack*.
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
        """Return the shares of the storage in each time span of a solution, in order of
        time.

        The shares of a span are keyed by the outstanding requests: (chain, number in
        the chain).
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
    """Return the value of a linear expression for the *values* of its variables."""
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
    """Return the linear expression one - factor x other."""
    found = dict(one)
    for at, value in other.items():
        found[at] = found.get(at, 0.0) - factor * value
    return found
