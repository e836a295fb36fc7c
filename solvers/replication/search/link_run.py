"""One run of the link-aware search: the planners' plans, dealing, annealing.

See :mod:`ioopt.solvers.replication.search.link_aware`.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ioopt.compiled.choice import LOADING_SECONDS, use_machine_code
from ioopt.errors import NotApplicableError, OutOfTime
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.problems.replication import RULES, EvictionPolicy, ReplicationPlan, ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.result import StopReason
from ioopt.sim.replication.simulate import simulate
from ioopt.sim.replication.state import replay_seconds
from ioopt.solvers.replication.greedy import job_data_present, minmin
from ioopt.solvers.replication.plans import build_plan
from ioopt.solvers.replication.search import params
from ioopt.solvers.replication.search.deal_kernel import Dealing, random_dealing
from ioopt.solvers.replication.search.forwarding import forwarded
from ioopt.solvers.replication.search.link_search import (
    OUR_EVICTION,
    Annealing,
    Engine,
    Queues,
    by_bytes,
    by_replays,
    with_barriers,
)
from ioopt.solvers.replication.search.spectral import task_order
from ioopt.solvers.replication.workflows import PLANNERS, Planner


class Budget:
    """What a search may spend and has spent; it ends after *effort* replays or so many *seconds*.

    The number of replays decides how far a run is, so that runs repeat, unless it *follows_clock* and the
    replays are late by about a share *lag* of the time: from then on the time past that share does, and
    what is left of the run's phases goes into the time left, none is skipped.
    """

    def __init__(
        self,
        effort: int,
        seconds: float,
        follows_clock: bool,
        lag: float,
        clock: Callable[[], float],
    ) -> None:
        self.effort, self.follows_clock, self.lag, self.clock = effort, follows_clock, lag, clock
        self.evaluations, self.by_clock, self.replay_seconds = 0, False, 0.0
        self._begun = clock()
        self.end = self._begun + seconds

    def left(self) -> float:
        """Seconds left."""
        return self.end - self.clock()

    def give_up(self) -> None:
        """Let the run, in a thread of its own, end as soon as it looks at the clock."""
        self.end = -float("inf")

    def replays_left(self) -> int:
        """How many replays are left, by the count or by the clock."""
        counted = self.effort - self.evaluations
        if not self.by_clock:
            return counted
        return min(counted, int(max(0.0, self.left()) / max(self.replay_seconds, 1e-7)))

    def counted_out(self) -> bool:
        """Whether the number of replays is used up, where the number ends the run."""
        return self.evaluations >= self.effort and not self.by_clock

    def late(self) -> bool:
        """Whether no time is left for another replay."""
        return self.left() <= self.replay_seconds

    def progress(self) -> float:
        """Share of the run that is over, 0 to 1, by the count or, once that is late, by the clock."""
        counted = min(1.0, self.evaluations / self.effort)
        if not self.follows_clock:
            return counted
        passed = 1.0 - self.left() / max(self.end - self._begun, 1e-9)
        beyond = min(1.0, (passed - self.lag) / (1.0 - self.lag))
        self.by_clock = self.by_clock or beyond > counted
        return max(counted, beyond) if self.by_clock else counted


RESERVE_SHARE = 0.4
"""Of the time left, at most so much for what follows the search."""
AFTER_PROOF = 8.0
"""Reading, report, check and writing of a workflow take 5 to 6 times as long as its bounds."""
STRETCH_SECONDS = 0.1
"""Annealing between two looks at the clock."""
CHEAP_SECONDS = 0.05
"""Plans whose replay takes longer are not made past the limit: the answer is replayed once more."""
BY_ORDER = "annealing of one order"
HANDED_ON = "files handed on between nodes"
HAND_ON_WINDOWS = (1, 1 << 30)
"""Tasks a node among which a round looks for those whose files are on disks: one, or all that are left."""

BATCH_PLANNERS: Mapping[str, Planner] = {
    "MinMin": minmin.solve,
    "JobDataPresent": job_data_present.solve,
    "MinMin without replication": lambda problem, request: minmin.solve(
        problem, replace(request, settings=minmin.Settings(replication=False))
    ),
    **{name: PLANNERS[name] for name in ("locality", "b-level", "heft", "fifo")},
}


@dataclass
class Best:
    """The best plan so far: its queues and eviction, or a planner's plan itself.

    ``rounds``: the tasks between two barriers each, where the plan has any.
    """

    score: float = float("inf")
    queues: Queues = field(default_factory=list)
    eviction: EvictionPolicy = OUR_EVICTION
    plan: ReplicationPlan | None = None
    origin: str = ""
    rounds: Queues = field(default_factory=list)


class LinkAwareRun:
    """Starts, dealing, annealing, and the clock over all three.

    *evaluations*: replays to make (None: by the number of tasks, or by the clock where that is
    sooner).
    """

    proof_seconds = 0.0
    """Time that the bound took, which is a pace of this machine on this instance."""

    def __init__(
        self, problem: ReplicationProblem, request: SolveRequest, evaluations: int | None
    ) -> None:
        self.problem, self.request, self.params = problem, request, params.PARAMS
        self.bound = self._proven()
        gap = request.options.gap or 0.0
        self.target = max(self.bound / (1.0 - min(gap, 0.999)), self.bound * (1 + 1e-10))
        self.best = Best()
        request.incumbents.objective_name = "makespan_seconds"
        request.incumbents.bound = self.bound
        self._said = -1.0
        self._cells = params.cells(problem)
        self._slow_replays = self._cells > self.params.slow_cells
        limit, left = request.options.time_limit_seconds, request.deadline.remaining()
        effort = evaluations or self.params.evaluations(problem, limit)
        # The front door still has to replay and check the plan.
        after = 0.05 + 4e-5 * sum(map(len, problem.inputs)) + AFTER_PROOF * self.proof_seconds
        self._reserve = min(RESERVE_SHARE * left, after) if limit else 0.0
        self.budget = Budget(
            effort,
            (left if limit else self.params.default_seconds) - self._reserve,
            evaluations is None,
            self.params.lag,
            request.deadline.clock,
        )
        self._ordered = self.params.has_orders(problem, effort)
        self.options = request.settings or RULES
        # Where even the cheap answers take long plain replays the engine is chosen before them.
        plain = replay_seconds(problem)[0]
        self._chosen = plain >= LOADING_SECONDS
        fast = self._chosen and use_machine_code("link-aware", request.deadline, effort * plain)
        self.engine = Engine(problem, request.options.seed, fast, self.options)

    def _proven(self) -> float:
        """A bound of the makespan in seconds."""
        return makespan_bound_seconds(self.problem)

    def reached(self) -> bool:
        """Whether the best plan meets the bound or the gap asked for."""
        return self.best.score <= self.target

    def over(self) -> bool:
        """Whether the run must end now; it never ends without a plan."""
        late = self.budget.late() and self.best.score < float("inf")
        return self.reached() or self.budget.counted_out() or late

    def stop(self) -> StopReason:
        """Why the run is over."""
        if self.reached():
            proven = self.best.score <= self.bound * (1 + 1e-9)
            return StopReason.FINISHED if proven else StopReason.GAP
        return StopReason.ITERATIONS if self.budget.counted_out() else StopReason.TIME

    def offer(
        self,
        queues: Queues,
        score: float,
        origin: str,
        eviction: EvictionPolicy = OUR_EVICTION,
        plan: ReplicationPlan | None = None,
        rounds: Queues | None = None,
    ) -> None:
        """Keep *queues* (or the *plan* itself) if they score better; report once a second."""
        if score >= self.best.score:
            return
        self.best = Best(score, queues, eviction, plan, origin, rounds or [])
        now = self.budget.clock()
        if self._said < 0 or now - self._said > 1.0:
            self._said = now
            self.request.incumbents.report(self.best_plan(), score, self.bound)

    def attempt(self, queues: Queues, origin: str) -> None:
        """Score *queues* by a replay and offer them."""
        begun = self.budget.clock()
        score = self.engine.score(queues)
        self.budget.replay_seconds = self.budget.clock() - begun
        self.budget.evaluations += 1
        self.offer(queues, score, origin)

    def best_plan(self) -> ReplicationPlan:
        """The best plan so far, with nothing but queues, eviction and rounds stated."""
        best = self.best
        if best.plan is not None:
            return best.plan
        plan = build_plan(self.problem, best.queues, best.eviction, rounds=best.rounds)
        return plan.model_copy(update=self.options.options())

    def notes(self) -> tuple[str, ...]:
        """Where the plan came from."""
        kind = "compiled" if self.engine.fast else "pure Python"
        return (f"best plan from {self.best.origin}; {self.budget.evaluations} replays ({kind})",)

    def start(self) -> None:
        """Score every planner's plan, as its own solver would hand it out, and a given plan."""
        given = self.request.start
        if isinstance(given, ReplicationPlan):
            self._baseline(given, "the given plan")
        # Whole cheap plans come before the limit: a command may end a little after it.
        until = self.request.deadline.with_overtime(self._reserve)
        asked = replace(self.request, settings=None, start=None, policy=None, deadline=until)
        for name, planner in self.planners().items():
            late = until.expired() or (
                self.budget.replay_seconds > CHEAP_SECONDS and self.budget.late()
            )
            if self.reached() or (self.best.origin and late):
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
        return {"MinMin": minmin.solve} if self._slow_replays else BATCH_PLANNERS

    def _baseline(self, plan: ReplicationPlan, origin: str) -> None:
        """Score a whole plan under its own eviction, then under ours."""
        budget = self.budget
        begun = budget.clock()
        plan = plan.model_copy(update=self.options.options())
        queues = self.queues_of(plan)
        score = self._replayed(plan, queues, origin)
        budget.replay_seconds = budget.clock() - begun
        if origin == next(iter(self.planners())):
            # The front door will replay the answer once more, as slowly as this.
            budget.end -= min(1.2 * budget.replay_seconds, 0.5 * max(0.0, budget.left()))
        self.offer(queues, score, origin, plan.eviction, plan)
        if plan.eviction != OUR_EVICTION:
            self.attempt(queues, f"{origin} with farthest-next-use eviction")

    def queues_of(self, plan: ReplicationPlan) -> Queues:
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
        if self.over():
            return
        budget = self.budget
        plain = min(budget.left(), budget.replays_left() * budget.replay_seconds)
        if not self._chosen and use_machine_code("link-aware", self.request.deadline, plain):
            # No random number has been drawn yet: both engines would give the same answer.
            self.engine = Engine(self.problem, self.request.options.seed, True, self.options)
            budget.replay_seconds = 0.0
        self.deal()
        if self.over():
            return
        fewest = self.params.fewest_by_clock * len(self.problem.tasks)
        if self._ordered and (not budget.by_clock or budget.replays_left() >= fewest):
            self._orders()
        else:
            self.anneal()

    def deal(self) -> None:
        """Plans that hand files on; then random dispatches of the spectral order, both ways."""
        order, budget, knobs = task_order(self.problem), self.budget, self.params
        if knobs.orders_pay(self.problem):
            self._hand_on(order)
        rng = random.Random(self.request.options.seed)
        share = knobs.ordered_deal_share if self._ordered else knobs.deal_share
        if self._slow_replays:
            share = knobs.slow_deal_share
        until = budget.progress() + share * (1.0 - budget.progress())
        files = [file.bytes for file in self.problem.files] or [0]
        typical = sum(files) / len(files) / self.problem.network.remote_bytes_per_second
        deals = knobs.deals_per_replay if self._cells > knobs.medium_cells else 1
        dealings, replays = [Dealing(40, 2.0, 0.1 * typical, 0.0)], 0
        while not self.over():
            enough = replays >= knobs.fewest_deals
            if budget.progress() >= (until if enough else max(until, 0.5)):
                return
            planned: list[tuple[float, Queues]] = []
            for dealing in dealings:
                queues = self.engine.deal(order, dealing)
                if queues is None:
                    return
                planned.append((self.engine.planned_end(), queues))
                order = order[::-1]
            self.attempt(min(planned)[1], "dispatch in spectral order")
            replays += 1
            dealings = [random_dealing(rng, typical) for _ in range(deals)]

    def _hand_on(self, order: Sequence[int]) -> None:
        """Score plans of *order* on all nodes, three quarters and half of them, while time lasts."""
        nodes, spent, budget = len(self.problem.nodes), 0.0, self.budget
        for window in HAND_ON_WINDOWS:
            for most in sorted({nodes, -(-3 * nodes // 4), -(-nodes // 2)}, reverse=True):
                if self.over() or budget.left() <= 2.0 * spent:
                    return
                begun = budget.clock()
                plan = forwarded(self.problem, order, most, window)
                plan = plan.model_copy(update=self.options.options())
                with suppress(OutOfTime):
                    replayed = simulate(self.problem, plan, deadline=self.request.deadline)
                    score = float(replayed.metrics["makespan_seconds"])
                    self.offer(self.queues_of(plan), score, HANDED_ON, plan=plan)
                budget.evaluations += 1
                spent = budget.clock() - begun

    def _orders(self) -> None:
        """One order of all tasks annealed, then with barriers by replays; again from other numbers."""
        order, first, knobs = task_order(self.problem), self.budget.progress(), self.params
        rounds = max(1, self.budget.replays_left() // (knobs.evaluations_per_round * len(order)))
        span, share = (1.0 - first) / rounds, knobs.order_share
        for turn in range(rounds):
            line = by_bytes(self.engine, order, in_turn=turn % 2 == 0)
            hot = self._heat(self.bound, knobs.order_hot[turn % 2])
            self._cool(line, first + span * (turn + share), hot, BY_ORDER)
            if self.over():
                return
            barred = with_barriers(self.engine, line, len(self.problem.nodes))
            until, hot = first + span * (turn + 1), self._heat(self.bound, knobs.warm)
            self._cool(barred, until, hot, f"{BY_ORDER}, then with barriers")
            if self.over():
                return

    def anneal(self) -> None:
        """Anneal from the best queues until the run is over."""
        annealing = by_replays(self.engine, self.best.queues)
        if annealing.seconds == float("inf"):
            self.budget.give_up()
            return
        self._cool(annealing, 1.0, self._heat(annealing.seconds, self.params.hot), "annealing")

    def _heat(self, score: float, share: float) -> float:
        """A temperature in seconds: that *share* of the *score*."""
        many = self.params.many_tasks
        return score * (many / max(many, len(self.problem.tasks))) * share

    def _cool(self, annealing: Annealing, until: float, hot: float, origin: str) -> None:
        """Anneal until share *until* of the run is over, from *hot* seconds on."""
        budget, falls = self.budget, self.params.cold / self.params.hot
        start, base, cost = budget.progress(), budget.evaluations, annealing.steps_per_replay
        total, steps = cost * max(1, round((until - start) * budget.effort)), 1
        while not self.over() and budget.progress() < until:
            begun, before = budget.clock(), annealing.evaluations
            share = (budget.progress() - start) / max(until - start, 1e-9)
            first = int(share * total) if budget.by_clock else before
            if first >= total:
                return
            steps = min(steps, total - first)
            annealing.run(steps, hot, hot * falls, self.target, first, total)
            made = annealing.evaluations - before
            budget.evaluations = base + annealing.evaluations // cost
            budget.replay_seconds = cost * (budget.clock() - begun) / max(1, made)
            seconds = min(STRETCH_SECONDS, 0.5 * max(0.0, budget.left()))
            # A replay that is given up at once says little of the next: no more than twice as many.
            fitting = max(1, int(cost * seconds / max(budget.replay_seconds, 1e-7)))
            steps = min(self.params.most_steps, fitting, 2 * steps)
            if annealing.best_score < self.best.score:
                queues, rounds = annealing.best_queues(), annealing.best_rounds()
                self.offer(queues, annealing.best_score, origin, rounds=rounds)
