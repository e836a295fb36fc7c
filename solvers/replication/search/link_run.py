"""One run of the link-aware search: the planners' plans, orders, annealing.

See :mod:`ioopt.solvers.replication.search.link_aware`.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from ioopt.check.replication.check import check
from ioopt.compiled.choice import LOADING_SECONDS, use_machine_code
from ioopt.errors import NotApplicableError, OutOfTime
from ioopt.models.replication.bounds import area_seconds
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.options import AtMost
from ioopt.problems.replication import (
    RULES,
    EvictionPolicy,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import SolveRequest
from ioopt.result import StopReason
from ioopt.sim.replication.simulate import simulate
from ioopt.sim.replication.state import replay_seconds
from ioopt.solvers.replication.greedy import job_data_present, minmin
from ioopt.solvers.replication.plans import build_plan
from ioopt.solvers.replication.search import params
from ioopt.solvers.replication.search.flow_deal import stretches
from ioopt.solvers.replication.search.link_search import (
    OUR_EVICTION,
    Annealing,
    Engine,
    Queues,
    again,
    by_bytes,
    by_replays,
    with_barriers,
)
from ioopt.solvers.replication.search.spectral import task_order
from ioopt.solvers.replication.workflows import PLANNERS, Planner


class Budget:
    """What a search may spend and has spent: so many replays (without end:
    infinite) and *seconds*.

    Restarts take a part of the replays each, so that a longer limit goes on where
    a shorter one ended.
    """

    def __init__(
        self, effort: float, seconds: float, clock: Callable[[], float]
    ) -> None:
        self.effort = effort
        self.clock = clock
        self.evaluations = 0
        self.replay_seconds = 0.0
        self.end = clock() + seconds
        self._first = 0
        self.size = 1

    def begin(self, size: int) -> None:
        """Begin a restart of *size* replays."""
        self._first = self.evaluations
        self.size = max(1, size)

    def left(self) -> float:
        """Seconds left."""
        return self.end - self.clock()

    def give_up(self) -> None:
        """Let the run, in a thread of its own, end as soon as it looks at the clock."""
        self.end = -float("inf")

    def counted_out(self) -> bool:
        """Whether the number of replays is used up."""
        return self.evaluations >= self.effort

    def late(self) -> bool:
        """Whether no time is left for another replay."""
        return self.left() <= self.replay_seconds

    def progress(self) -> float:
        """Share of the restart that is over, 0 to 1."""
        return min(1.0, (self.evaluations - self._first) / self.size)


RESERVE_SHARE = 0.4
"""Of the time left, at most so much for what follows the search."""
AFTER_PROOF = 8.0
"""Reading, report, check and writing of a workflow take 5 to 6 times
as long as its bounds.
"""
STRETCH_SECONDS = 0.1
"""Annealing between two looks at the clock."""
CHEAP_SECONDS = 0.05
"""Plans whose replay takes longer are not made past the limit: the answer
is replayed once more.
"""
CYCLE = 12
"""Restarts from one fresh start, the second half of them from the best of the run."""
BY_ORDER = "annealing of one order"

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
    """Starts, then restarts that anneal, until the clock or the count ends them.

    *evaluations*: replays to make. None: restarts that grow from few replays on, until
    a limit that was asked for is used up, else by the number of tasks.
    """

    proof_seconds = 0.0
    """Time that the bound took, which is a pace of this machine on this instance."""

    def __init__(
        self,
        problem: ReplicationProblem,
        request: SolveRequest,
        evaluations: int | None,
    ) -> None:
        self.problem = problem
        self.request = request
        self.params = params.PARAMS
        self.additive = (
            request.measure == "additive_seconds" and not problem.is_workflow
        )
        self.objective_name = (
            "additive_seconds" if self.additive else "makespan_seconds"
        )
        self.bound = self._proven()
        gap = request.options.gap or 0.0
        self.target = max(
            self.bound / (1.0 - min(gap, 0.999)), self.bound * (1 + 1e-10)
        )
        self.best = Best()
        request.incumbents.objective_name = self.objective_name
        request.incumbents.bound = self.bound
        self._said = -1.0
        self._cells = params.cells(problem)
        self._slow_replays = self._cells > self.params.slow_cells
        limit = request.options.time_limit_seconds
        left = request.deadline.remaining()
        asked = limit is not None and not isinstance(limit, AtMost)
        effort = evaluations or (
            inf if asked else self.params.evaluations(problem, limit)
        )
        # The front door still has to replay and check the plan.
        after = (
            0.05
            + 4e-5 * sum(map(len, problem.inputs))
            + AFTER_PROOF * self.proof_seconds
        )
        self._reserve = min(RESERVE_SHARE * left, after) if limit else 0.0
        self.budget = Budget(
            effort,
            (left if limit else self.params.default_seconds) - self._reserve,
            request.deadline.clock,
        )
        self._orders_pay = self.params.orders_pay(problem) and not self._slow_replays
        self._many = len(problem.tasks) >= self.params.many_tasks
        self._evaluations = evaluations
        self._elite = Best()
        self._ordered: Annealing | None = None
        self.options = request.settings or RULES
        # Where even the cheap answers take long plain replays the engine is
        # chosen before them.
        plain = replay_seconds(problem)[0]
        self._chosen = plain >= LOADING_SECONDS
        fast = self._chosen and use_machine_code(
            "link-aware", request.deadline, effort * plain
        )
        self.engine = self._engine(fast)

    def _engine(self, fast: bool) -> Engine:
        seed = self.request.options.seed
        return Engine(self.problem, seed, fast, self.options, self.additive)

    def _proven(self) -> float:
        """A bound of the measure in seconds."""
        if self.additive:
            return area_seconds(self.problem)
        return makespan_bound_seconds(self.problem)

    @cached_property
    def _order(self) -> list[int]:
        """The tasks along the Fiedler vector."""
        return task_order(self.problem)

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
        timely = self.budget.counted_out() or not self.budget.late()
        return StopReason.ITERATIONS if timely else StopReason.TIME

    def offer(self, found: Best) -> None:
        """Keep what was found if it scores better; report once a second."""
        if found.score < self._elite.score:
            self._elite = found
        if found.score >= self.best.score:
            return
        self.best = found
        now = self.budget.clock()
        if self._said < 0 or now - self._said > 1.0:
            self._said = now
            self.request.incumbents.report(self.best_plan(), found.score, self.bound)

    def attempt(self, queues: Queues, origin: str) -> None:
        """Score *queues* by a replay and offer them."""
        begun = self.budget.clock()
        score = self.engine.score(queues)
        self.budget.replay_seconds = self.budget.clock() - begun
        self.budget.evaluations += 1
        self.offer(Best(score, queues, origin=origin))

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
        return (
            f"best plan from {self.best.origin}; {self.budget.evaluations} "
            f"replays ({kind})",
        )

    def start(self) -> None:
        """Score every planner's plan, as its own solver would hand it
        out, and a given plan.
        """
        given = self.request.start
        if isinstance(given, ReplicationPlan):
            self._baseline(given, "the given plan")
        # Whole cheap plans come before the limit: a command may end a little after it.
        until = self.request.deadline.with_overtime(self._reserve)
        asked = replace(
            self.request, settings=None, start=None, policy=None, deadline=until
        )
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
                if (
                    self.request.incumbents.plan is None
                ):  # the answer if the replay is cut off
                    self.request.incumbents.plan = plan
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
            budget.end -= min(
                1.2 * budget.replay_seconds, 0.5 * max(0.0, budget.left())
            )
        self.offer(Best(score, queues, plan.eviction, plan, origin))
        if plan.eviction != OUR_EVICTION:
            self.attempt(queues, f"{origin} with farthest-next-use eviction")

    def queues_of(self, plan: ReplicationPlan) -> Queues:
        """The tasks in the queues of *plan*, without its copy entries."""
        index = self.problem.task_index
        entries = [plan.order.get(node.id, ()) for node in self.problem.nodes]
        return [
            [index[name] for name in row if isinstance(name, str)] for row in entries
        ]

    def _replayed(self, plan: ReplicationPlan, queues: Queues, origin: str) -> float:
        """The measure of a whole plan of these *queues*, in seconds."""
        entries = sum(map(len, plan.order.values()))
        if plan.rounds or plan.dispatches or entries > sum(map(len, queues)):
            schedule = simulate(self.problem, plan).schedule
            return check(self.problem, plan, schedule).objectives.get(
                self.objective_name, inf
            )
        return self.engine.score(queues, plan.eviction)

    def improve(self) -> None:
        """Restart until time, count or bound says stop, on one engine from here on."""
        if self.over():
            return
        budget = self.budget
        plain = min(budget.left(), budget.effort * budget.replay_seconds)
        if not self._chosen and use_machine_code(
            "link-aware", self.request.deadline, plain
        ):
            # No random number has been drawn yet: both engines would
            # give the same answer.
            self.engine = self._engine(True)
            budget.replay_seconds = 0.0
        for turn in range(self.params.most_restarts):
            before = budget.evaluations
            budget.begin(self._size(turn))
            self.restart(turn)
            if self.over():
                return
            if budget.evaluations == before:
                budget.give_up()

    def _size(self, turn: int) -> int:
        """Replays of a restart: twice those of the one before, up to what
        serves an annealing.
        """
        knobs = self.params
        tasks = len(self.problem.tasks)
        most = (
            knobs.evaluations_per_round
            if self._orders_pay
            else knobs.evaluations_per_restart
        ) * tasks
        size = min((self._evaluations or knobs.first_restart) << min(turn, 40), most)
        if self._evaluations and not self._orders_pay:
            size = self._evaluations
        left = self.budget.effort - self.budget.evaluations
        return int(left) if left < 2 * size else size

    def restart(self, turn: int) -> None:
        """Begin and anneal, from the elite of its cycle; the second half of a cycle
        begins from the best.
        """
        place = turn % CYCLE
        fresh = place == 0
        if place == CYCLE // 2:
            self._elite = self.best
        elif fresh and turn:
            self._elite = Best()
            self._ordered = None
        self.deal(fresh, first=turn == 0)
        if self.over():
            return
        if (
            self._elite.score == inf
        ):  # no start fits the nodes, or none was made in time
            self._elite = self.best
        if self._orders_pay and not self._many:
            turn, queues = divmod(turn, 2)
        else:
            queues = not self._orders_pay
        if queues:
            self.anneal(turn)
        else:
            self._orders(turn)

    def deal(self, fresh: bool = True, first: bool = True) -> None:
        """Fresh starts, first or where no order is annealed: the spectral order in
        turn or in stretches.
        """
        if not fresh or (self._orders_pay and self._many and not first):
            return
        nodes = len(self.problem.nodes)
        order = self._order
        starts = {"in turn": [order[i::nodes] for i in range(nodes)]}
        starts["in stretches"] = stretches(self.problem, order)
        for how, queues in starts.items():
            fits = all(
                self.problem.fits(k, i) for i, queue in enumerate(queues) for k in queue
            )
            if fits and not self.over():
                self.attempt(queues, f"the spectral order {how}")

    def _orders(self, turn: int) -> None:
        """Anneal one order of all tasks, from the best of the cycle on, then with
        barriers by replays.
        """
        knobs = self.params
        now = self.budget.progress()
        if self._ordered is None:
            line = by_bytes(self.engine, self._order, in_turn=turn % 2 == 0)
            hot = self._heat(self.bound, knobs.order_hot[turn % 2])
        else:
            line = again(self.engine, self._ordered)
            hot = self._heat(self.bound, knobs.order_warm)
        self._cool(line, now + (1.0 - now) * knobs.order_share, hot, BY_ORDER)
        self._ordered = line
        if self.over():
            return
        barred = with_barriers(self.engine, line, len(self.problem.nodes))
        self._cool(
            barred,
            1.0,
            self._heat(self.bound, knobs.warm),
            f"{BY_ORDER}, then with barriers",
        )

    def anneal(self, turn: int = 0) -> None:
        """Anneal from the queues of the elite until the restart is over."""
        annealing = by_replays(self.engine, self._elite.queues)
        if annealing.seconds < inf:
            hot = self._heat(annealing.seconds, self.params.heats[turn % 2])
            self._cool(annealing, 1.0, hot, "annealing")

    def _heat(self, score: float, share: float) -> float:
        """A temperature in seconds: that *share* of the *score*."""
        many = self.params.many_tasks
        return score * (many / max(many, len(self.problem.tasks))) * share

    def _cool(
        self, annealing: Annealing, until: float, hot: float, origin: str
    ) -> None:
        """Anneal until share *until* of the restart is over, from *hot* seconds on."""
        budget = self.budget
        falls = self.params.cold / self.params.heats[0]
        base = budget.evaluations
        cost = annealing.steps_per_replay
        total = cost * max(1, round((until - budget.progress()) * budget.size))
        steps = 1
        while not self.over() and (first := annealing.evaluations) < total:
            begun = budget.clock()
            steps = min(steps, total - first)
            annealing.run(steps, hot, hot * falls, self.target, first, total)
            made = annealing.evaluations - first
            budget.evaluations = base + -(-annealing.evaluations // cost)
            budget.replay_seconds = cost * (budget.clock() - begun) / max(1, made)
            seconds = min(STRETCH_SECONDS, 0.5 * max(0.0, budget.left()))
            # A replay that is given up at once says little of the next: no more
            # than twice as many.
            fitting = max(1, int(cost * seconds / max(budget.replay_seconds, 1e-7)))
            steps = min(self.params.most_steps, fitting, 2 * steps)
            if annealing.best_score < self._elite.score:
                queues = annealing.best_queues()
                rounds = annealing.best_rounds()
                self.offer(
                    Best(annealing.best_score, queues, origin=origin, rounds=rounds)
                )
            if not made:
                return
