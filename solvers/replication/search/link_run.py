"""One run of the link-aware search: baselines, dealing in spectral order, annealing of the queues.

See :mod:`ioopt.solvers.replication.search.link_aware`.
"""

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from ioopt.compiled.choice import LOADING_SECONDS, use_machine_code
from ioopt.errors import NotApplicableError, OutOfTime
from ioopt.models.replication.timeline_bound import makespan_bound_seconds
from ioopt.problems.replay_options import RULES
from ioopt.problems.replication import EvictionPolicy, ReplicationPlan, ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.sim.replication.simulate import replay_seconds, simulate
from ioopt.solvers.replication.greedy import job_data_present, lpt, minmin
from ioopt.solvers.replication.plans import build_plan
from ioopt.solvers.replication.search.deal_kernel import Dealing, random_dealing
from ioopt.solvers.replication.search.link_search import (
    OUR_EVICTION,
    Annealing,
    Engine,
    OrderAnnealing,
    Queues,
    RoundAnnealing,
)
from ioopt.solvers.replication.search.pace import (
    FEWEST_BY_CLOCK,
    MANY_TASKS,
    SLOW_CELLS,
    Best,
    Pace,
    cells,
    evaluations_within,
    has_orders,
)
from ioopt.solvers.replication.search.spectral import task_order
from ioopt.solvers.replication.workflows import PLANNERS, Planner

DEFAULT_SECONDS = 60.0
"""Length of a run that has no time limit."""
RESERVE_SHARE = 0.4
"""Of the time left, at most so much for that."""
AFTER_PROOF = 8.0
"""Reading, report, check and writing of a workflow take 5 to 6 times as long as its bounds."""
STRETCH_SECONDS = 0.1
"""Annealing between two looks at the clock, MOST_STEPS moves of it at the most."""
MOST_STEPS = 100_000
CHEAP_SECONDS = 0.05
"""Plans whose replay takes longer are not made past the limit: the answer is replayed once more."""
MEDIUM_CELLS = 10_000
"""Inputs x nodes from which several deals are tried before a replay."""
DEALS_PER_REPLAY, FEWEST_DEALS = 4, 24
DEAL_SHARE, SLOW_DEAL_SHARE = 0.12, 0.85
"""Share of what is left of the run for dealing; where replays are slow nearly all of it."""
HOT, COLD, WARM = 5e-3, 1e-4, 1e-3
"""First and last temperature as shares of the makespan, for up to MANY_TASKS tasks; the first after an
annealed order."""
ORDERS = ((True, 5e-3), (False, 1e-2))
"""Orders annealed in turn: whether nodes take turns in it at first, first temperature. One annealed for long
beats the best of several."""
BY_ORDER = "annealing of one order"
EVALUATIONS_PER_ROUND, ORDER_SHARE, ORDERED_DEALS = 1500, 0.4, 0.02
"""Replays a task from one annealed order to the next, the share of them for that order, and of all of them
for deals before."""


BATCH_PLANNERS: Mapping[str, Planner] = {
    "MinMin": minmin.solve,
    "JobDataPresent": job_data_present.solve,
    "MinMin without replication": lambda problem, request: minmin.solve(
        problem, replace(request, settings=minmin.Settings(replication=False))
    ),
    **{name: PLANNERS[name] for name in ("locality", "b-level", "heft", "fifo")},
    "lpt": lpt.solve,
}


class LinkAwareRun(Pace):
    """Starts, dealing, annealing, and the clock over all three.

    *evaluations*: replays to make (None: by the number of tasks, or by the clock where that is
    sooner).
    """

    _proof_seconds = 0.0
    """Time that the bound took, which is a pace of this machine on this instance."""

    def __init__(
        self, problem: ReplicationProblem, request: SolveRequest, evaluations: int | None
    ) -> None:
        self.problem, self.request = problem, request
        limit = request.options.time_limit_seconds
        self.effort = evaluations or evaluations_within(problem, limit)
        self.by_clock, self._may_follow_clock = False, evaluations is None
        self.bound = self._proven()
        gap = request.options.gap or 0.0
        self.target = max(self.bound / (1.0 - min(gap, 0.999)), self.bound * (1 + 1e-10))
        self.best = Best()
        self.evaluations = 0
        self.clock = request.deadline.clock
        request.incumbents.objective_name = "makespan_seconds"
        request.incumbents.bound = self.bound
        self._said = -1.0
        self._replay_seconds = 0.0
        inputs = sum(map(len, problem.inputs))
        self._cells = cells(problem)
        self._ordered = has_orders(problem, self.effort)
        # The front door still has to replay and check the plan.
        left = request.deadline.remaining()
        after = 0.05 + 4e-5 * inputs + AFTER_PROOF * self._proof_seconds
        self._reserve = min(RESERVE_SHARE * left, after) if limit else 0.0
        self._begun = self.clock()
        self._end = self._begun + (left if limit else DEFAULT_SECONDS) - self._reserve
        self.options = request.settings or RULES
        # Where even the cheap answers take long plain replays the engine is chosen before them.
        plain = replay_seconds(problem)[0]
        self._chosen = plain >= LOADING_SECONDS
        fast = self._chosen and use_machine_code(
            "link-aware", request.deadline, self.effort * plain
        )
        self.engine = Engine(problem, request.options.seed, fast, self.options)

    def _proven(self) -> float:
        """A bound of the makespan in seconds."""
        return makespan_bound_seconds(self.problem)

    def _offer(
        self,
        queues: Queues,
        score: float,
        origin: str,
        eviction: EvictionPolicy = "farthest-next-use",
        plan: ReplicationPlan | None = None,
        rounds: Queues | None = None,
    ) -> None:
        """Keep *queues* (or the baseline *plan* itself) if they score better; report once a second."""
        if score >= self.best.score:
            return
        self.best = Best(score, queues, eviction, plan, origin, rounds or [])
        now = self.clock()
        if self._said < 0 or now - self._said > 1.0:
            self._said = now
            self.request.incumbents.report(self.best_plan(), score, self.bound)

    def _try(self, queues: Queues, origin: str) -> float:
        begun = self.clock()
        score = self.engine.score(queues)
        self._replay_seconds = self.clock() - begun
        self.evaluations += 1
        self._offer(queues, score, origin)
        return score

    def best_plan(self) -> ReplicationPlan:
        """The best plan so far, with nothing but queues, eviction and rounds stated."""
        if self.best.plan is not None:
            return self.best.plan
        best = self.best
        plan = build_plan(self.problem, best.queues, best.eviction, rounds=best.rounds)
        return plan.model_copy(update=self.options.options())

    def notes(self) -> tuple[str, ...]:
        """Where the plan came from."""
        kind = "compiled" if self.engine.fast else "pure Python"
        return (f"best plan from {self.best.origin}; {self.evaluations} replays ({kind})",)

    def start(self) -> None:
        """Score every planner's plan, as its own solver would hand it out, and a given plan."""
        given = self.request.start
        if isinstance(given, ReplicationPlan):
            self._baseline(given, "the given plan")
        # Whole cheap plans come before the limit: a command may end a little after it.
        until = self.request.deadline.with_overtime(self._reserve)
        asked = replace(self.request, settings=None, start=None, policy=None, deadline=until)
        for name, planner in self.planners().items():
            late = until.expired() or (self._replay_seconds > CHEAP_SECONDS and self._late())
            if self._reached() or (self.best.origin and late):
                return
            try:
                plan = planner(self.problem, asked).plan
                assert plan is not None
            except (OutOfTime, NotApplicableError):
                continue
            if not self.best.origin:
                self.best = replace(self.best, plan=plan, origin=name)
            with suppress(OutOfTime):
                self._baseline(plan, name)

    def planners(self) -> Mapping[str, Planner]:
        """The cheap answers, the quickest first."""
        return BATCH_PLANNERS if self._cells <= SLOW_CELLS else {"MinMin": minmin.solve}

    def _baseline(self, plan: ReplicationPlan, origin: str) -> None:
        """Score a whole plan under its own eviction, then under ours."""
        begun = self.clock()
        plan = plan.model_copy(update=self.options.options())
        queues = self._queues(plan)
        score = self._replayed(plan, queues, origin)
        self._replay_seconds = self.clock() - begun
        if origin == next(iter(self.planners())):
            # The front door will replay the answer once more, as slowly as this.
            self._end -= min(1.2 * self._replay_seconds, 0.5 * max(0.0, self._left()))
        self._offer(queues, score, origin, plan.eviction, plan)
        if plan.eviction != OUR_EVICTION:
            self._try(queues, f"{origin} with farthest-next-use eviction")

    def _queues(self, plan: ReplicationPlan) -> Queues:
        """The tasks in the queues of *plan*, without its copy entries."""
        index = self.problem.task_index
        entries = [plan.order.get(node.id, ()) for node in self.problem.nodes]
        return [[index[name] for name in row if isinstance(name, str)] for row in entries]

    def _replayed(self, plan: ReplicationPlan, queues: Queues, origin: str) -> float:
        """The makespan of a whole plan of these *queues*, in seconds."""
        entries = sum(map(len, plan.order.values()))
        if plan.rounds or plan.dispatches or entries > sum(map(len, queues)):
            return float(simulate(self.problem, plan).metrics["makespan_seconds"])
        return self.engine.score(queues, plan.eviction)

    def improve(self) -> None:
        """Deal and anneal until time, count or bound says stop, on one engine from here on."""
        if self._over():
            return
        plain = min(self._left(), self._replays_left() * self._replay_seconds)
        if not self._chosen and use_machine_code("link-aware", self.request.deadline, plain):
            self.engine.go_fast()
            self._replay_seconds = 0.0
        self._deal()
        if self._over():
            return
        fewest = FEWEST_BY_CLOCK * len(self.problem.tasks)
        if self._ordered and (not self.by_clock or self._replays_left() >= fewest):
            self._orders()
        else:
            self._anneal()

    def _orders(self) -> None:
        """One order of all tasks annealed, then with barriers by replays; again from other numbers."""
        order, first = task_order(self.problem), self._progress()
        rounds = max(1, self._replays_left() // (EVALUATIONS_PER_ROUND * len(order)))
        span = (1.0 - first) / rounds
        for number in range(rounds):
            in_turn, share = ORDERS[number % len(ORDERS)]
            line = OrderAnnealing(self.engine, order, in_turn)
            until = first + span * (number + ORDER_SHARE)
            self._cool(line, until, self._heat(self.bound, share), BY_ORDER)
            if self._over():
                return
            barred = RoundAnnealing(self.engine, line, len(self.problem.nodes))
            until, hot = first + span * (number + 1), self._heat(self.bound, WARM)
            self._cool(barred, until, hot, f"{BY_ORDER}, then with barriers")
            if self._over():
                return

    def _deal(self) -> None:
        """Random dispatches of the spectral order, both ways, for a share of the run."""
        order = task_order(self.problem)
        rng = random.Random(self.request.options.seed)
        self._segments(order)
        share = ORDERED_DEALS if self._ordered else DEAL_SHARE
        if self._cells > SLOW_CELLS:
            share = SLOW_DEAL_SHARE
        until = self._progress() + share * (1.0 - self._progress())
        files = [file.bytes for file in self.problem.files] or [0]
        typical = sum(files) / len(files) / self.problem.network.remote_bytes_per_second
        deals = DEALS_PER_REPLAY if self._cells > MEDIUM_CELLS else 1
        replays = 0
        while not self._over():
            if self._progress() >= (until if replays >= FEWEST_DEALS else max(until, 0.5)):
                return
            first = replays == 0
            planned, queues = float("inf"), None
            for _ in range(1 if first else deals):
                dealt = self._random_deal(order, rng, typical, first)
                order = order[::-1]
                if dealt is None:
                    return
                if dealt[0] < planned:
                    planned, queues = dealt
            replays += 1
            if queues is not None:
                self._try(queues, "dispatch in spectral order")

    def _random_deal(
        self, order: list[int], rng: random.Random, typical: float, first: bool
    ) -> tuple[float, Queues] | None:
        """A dispatch under random parameters (at *first* under fixed ones), with its planned end."""
        dealing = random_dealing(rng, typical)
        queues = self.engine.deal(order, Dealing(40, 2.0, 0.1 * typical, 0.0) if first else dealing)
        return None if queues is None else (self.engine.planned_end(), queues)

    def _segments(self, order: list[int]) -> None:
        """Each node one stretch of the order, neighbours in opposite directions: their borders meet."""
        nodes = len(self.problem.nodes)
        cuts = [len(order) * i // nodes for i in range(nodes + 1)]
        for turn in (0, 1):
            queues = [
                order[cuts[i] : cuts[i + 1]][:: 1 if (i + turn) % 2 else -1] for i in range(nodes)
            ]
            if not self._over():
                self._try(queues, "stretches of the spectral order")

    def _anneal(self) -> None:
        """Anneal from the best queues until the run is over."""
        score = self.best.score
        if self.best.eviction != OUR_EVICTION or self.best.plan is not None or self.best.rounds:
            score = self.engine.score(self.best.queues)
        if score == float("inf"):
            self._end = self.clock()
            return
        annealing = self.engine.annealing(self.best.queues, score)
        self._cool(annealing, 1.0, self._heat(score, HOT), "annealing")

    def _heat(self, score: float, share: float) -> float:
        """A temperature in seconds: that *share* of the *score*."""
        return score * (MANY_TASKS / max(MANY_TASKS, len(self.problem.tasks))) * share

    def _cool(
        self, annealing: Annealing | OrderAnnealing, until: float, hot: float, origin: str
    ) -> None:
        """Anneal until share *until* of the run is over, from *hot* seconds on."""
        start, base, cost = self._progress(), self.evaluations, annealing.STEPS_PER_REPLAY
        total, steps = cost * max(1, round((until - start) * self.effort)), 1
        while not self._over() and self._progress() < until:
            share = (self._progress() - start) / max(until - start, 1e-9)
            begun, before = self.clock(), annealing.evaluations
            if self.by_clock:
                heat = hot * (COLD / HOT) ** share
                annealing.run(steps, heat, heat, self.target)
            elif before < total:
                steps = min(steps, total - before)
                annealing.run(steps, hot, hot * COLD / HOT, self.target, before, total)
            else:
                return
            made = annealing.evaluations - before
            self.evaluations = base + annealing.evaluations // cost
            self._replay_seconds = cost * (self.clock() - begun) / max(1, made)
            budget = min(STRETCH_SECONDS, 0.5 * max(0.0, self._left()))
            steps = min(MOST_STEPS, max(1, int(cost * budget / max(self._replay_seconds, 1e-7))))
            if annealing.best_score < self.best.score:
                queues, rounds = annealing.best_queues(), annealing.best_rounds()
                self._offer(queues, annealing.best_score, origin, rounds=rounds)
