"""Run the link-aware search once: start from plans of planners and from orders, then
anneal.

See :mod:`ioopt.solvers.replication.search.link_aware`.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import NamedTuple

from ioopt.errors import NotApplicableError, OutOfTime
from ioopt.models.replication.batch_time import plan_seconds
from ioopt.models.replication.bounds import area_seconds
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.options import AtMost
from ioopt.problems.replication import (
    RULES,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import SolveRequest
from ioopt.result import StopReason
from ioopt.sim.replication.build import replay_seconds
from ioopt.sim.replication.noisy import judging_noise
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.greedy import job_data_present, minmin
from ioopt.solvers.replication.plans import build_plan
from ioopt.solvers.replication.search import params
from ioopt.solvers.replication.search.budget import Budget
from ioopt.solvers.replication.search.cooling import (
    Cooling,
    JudgedCooling,
    NoisyCooling,
)
from ioopt.solvers.replication.search.elites import Best, Elites
from ioopt.solvers.replication.search.flow_deal import stretches
from ioopt.solvers.replication.search.judge import (
    FINAL_DRAW,
    STEADY_DRAWS,
    Judge,
    is_queues,
)
from ioopt.solvers.replication.search.link_search import (
    Annealing,
    Engine,
    Queues,
    again,
    by_bytes,
    by_replays,
    from_plan,
    with_barriers,
)
from ioopt.solvers.replication.search.spectral import task_order
from ioopt.solvers.replication.search.stops import (
    ReplaysUsed,
    TargetMet,
    TimeUp,
    first_met,
)
from ioopt.solvers.replication.workflows import PLANNERS, Planner
from ioopt.units import counted

BY_ORDER = "annealing of one order"

BATCH_PLANNERS: Mapping[str, Planner] = {
    "MinMin": minmin.solve,
    "JobDataPresent": job_data_present.solve,
    "MinMin without replication": lambda problem, request: minmin.solve(
        problem, replace(request, settings=minmin.Settings(replication=False))
    ),
    **{name: PLANNERS[name] for name in ("locality", "b-level", "heft", "fifo")},
}


class Stage(NamedTuple):
    """A stage of a run: restarts, until share ``until`` of the run is over.

    ``size`` returns the number of replays of a restart, by its number; ``restart``
    makes it. ``ends_proven``: the stage also ends once a plan meets the bound.
    """

    until: float
    size: Callable[[int], int]
    restart: Callable[[int], None]
    ends_proven: bool = False


@dataclass
class Doubling:
    """Numbers of replays of restarts: ``first``, then twice as many as before, up to
    ``most``; the last restart makes all that are left.
    """

    first: int
    most: int
    budget: Budget

    def __call__(self, turn: int) -> int:
        """Return the number of replays of restart *turn*."""
        size = min(self.first << min(turn, 40), self.most)
        left = self.budget.unused()
        return int(left) if left < 2 * size else size


class LinkAwareRun:
    """Make starting plans, then restarts that anneal, until a limit ends the run.

    *evaluations* is the number of replays to make. If it is None and a time limit is
    requested, restarts of growing size follow each other until the limit. Otherwise the
    number of replays follows from the number of tasks.

    *bound* is a lower bound of the measure in seconds, if one is known. A *robust* run
    selects plans by their mean score over replays under unfair sharing, all with the
    same draws of weights. Kinds of plans come first: if a plan meets the bound, only
    such plans compete, and a plan that is worse than a planner's never wins.
    """

    proof_seconds = 0.0
    """Seconds taken to compute the bound.

    They show how fast this machine is on this instance.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        request: SolveRequest,
        evaluations: int | None,
        robust: bool = True,
        bound: float | None = None,
    ) -> None:
        self.problem = problem
        self.request = request
        self.params = params.PARAMS
        asked = request.measure == "additive_seconds"
        self.additive = asked and not problem.is_workflow
        self.objective_name = "makespan_seconds"
        if self.additive:
            self.objective_name = "additive_seconds"
        self.bound = self._proven() if bound is None else bound
        request.incumbents.objective_name = self.objective_name
        request.incumbents.bound = self.bound
        self._said = -1.0
        self._slow_replays = params.cells(problem) > self.params.slow_cells
        left = request.deadline.remaining()
        self._reserve = self._kept_seconds(left)
        self.budget = self._budget(evaluations, left)
        self._orders_pay = self.params.orders_pay(problem) and not self._slow_replays
        self._many = len(problem.tasks) >= self.params.many_tasks
        self._sizes = self._restart_sizes(evaluations)
        self._ordered: Annealing | None = None
        self._redrawn = 0
        self.options = request.settings or RULES
        seed = request.options.seed
        noise = judging_noise(problem)
        self.engine = Engine(problem, seed, self.options, self.additive, noise=noise)
        self._judge = Judge(self.engine, noise, self.budget)
        self.robust = robust and self._replays() >= self.params.fewest_judged
        self.budget.choice = self.robust
        gap = request.options.gap or 0.0
        self.target = TargetMet(self.bound, gap, self.budget, len(problem.tasks))
        self.stops = (self.target, ReplaysUsed(self.budget), TimeUp(self.budget))
        self.elites = Elites(self.target.proof, self.robust)
        self.stage = Stage(1.0, self._sizes, self.restart)

    def _kept_seconds(self, left: float) -> float:
        """Return how many of the *left* seconds to reserve for checking and replaying
        the plan.
        """
        if not self.request.options.time_limit_seconds:
            return 0.0
        after = (
            0.05
            + 4e-5 * sum(map(len, self.problem.inputs))
            + self.params.after_proof * self.proof_seconds
        )
        return min(self.params.reserve_share * left, after)

    def _budget(self, evaluations: int | None, left: float) -> Budget:
        """Return the budget of a run; *left* are the seconds until the deadline.

        Without *evaluations*, the requested limit sets the budget.
        """
        limit = self.request.options.time_limit_seconds
        asked = limit is not None and not isinstance(limit, AtMost)
        effort: float = inf
        if evaluations:
            effort = evaluations
        elif not asked:
            effort = self.params.evaluations(self.problem, limit)
        seconds = left if limit else self.params.default_seconds
        return Budget(effort, seconds - self._reserve, self.request.deadline.clock)

    def _replays(self) -> float:
        """Return the number of replays that the run can make; an estimate, if its time
        is limited.
        """
        replays = self.budget.effort
        if replays == inf:
            seconds = replay_seconds(self.problem, self.engine.make)
            replays = self.budget.left() / max(seconds, 1e-9)
        return replays

    def _proven(self) -> float:
        """Return a lower bound, in seconds, of the measure."""
        if self.additive:
            return area_seconds(self.problem)
        return makespan_bound_seconds(self.problem)

    @cached_property
    def _order(self) -> list[int]:
        """Return the tasks in the order of the Fiedler vector."""
        return task_order(self.problem)

    def over(self) -> bool:
        """Return whether the run must end now, or its stage; time alone does not end it
        before it has a plan.
        """
        score = self.elites.best.score
        if self.stage.ends_proven and score <= self.target.proof:
            return True
        reason = first_met(self.stops, self.elites.best)
        if reason is StopReason.TIME:
            return score < inf
        return reason is not None

    def stop(self) -> StopReason:
        """Return the reason why the run ended."""
        return first_met(self.stops, self.elites.best) or StopReason.ITERATIONS

    def offer(self, found: Best) -> None:
        """Let *found* compete; if it is the best plan now, report it at most once a
        second.
        """
        before = self.elites.best.score
        if not self.elites.offer(found):
            return
        self.target.note(before, found.score)
        now = self.budget.clock()
        if self._said < 0 or now - self._said > 1.0:
            self._said = now
            self.tell()

    def tell(self) -> None:
        """Report the best plan, which answers for a run that is interrupted."""
        score = self.elites.best.score
        if score < inf:
            self.request.incumbents.report(
                self.best_plan(), score, self.bound, selected=self.robust
            )

    def judge(self, found: Best) -> None:
        """Set the rank of *found*: in a robust run by noisy replays, else its score."""
        found.rank = found.score
        if not self.robust or found.score == inf:
            return
        elites = self.elites
        if elites.kind(found.score) > elites.kind(elites.best.score):
            found.rank = inf
            return
        found.rank = self._judge.rank(found, elites.rival(found.score))

    def finish(self) -> None:
        """Choose the answer of a robust run: of the finalists, the one with the least
        mean over noisy replays by other draws.
        """
        draws = self.params.final_draws
        count = self.budget.finalists(self.budget.evaluations)
        elites = self.elites
        rivals = []
        for found in elites.finalists[:count]:
            if elites.kind(found.score) == elites.kind(elites.best.score):
                mean = self._judge.mean(found, FINAL_DRAW, draws)
                rivals.append(replace(found, rank=mean))
        if len(rivals) > 1:
            elites.best = min(rivals, key=elites.key)

    def attempt(self, queues: Queues, origin: str) -> None:
        """Score *queues* by a replay, and offer them as the best plan."""
        begun = self.budget.clock()
        score = self.engine.score(queues)
        self.budget.replay_seconds = self.budget.clock() - begun
        self.budget.evaluations += 1
        found = Best(score, queues=queues, eviction=self.engine.eviction, origin=origin)
        self.judge(found)
        self.offer(found)

    def best_plan(self) -> ReplicationPlan:
        """Return the best plan so far.

        A plan that the search has found has queues, an eviction policy and rounds only.
        """
        best = self.elites.best
        if best.plan is not None:
            return best.plan
        plan = build_plan(self.problem, best.queues, best.eviction, rounds=best.rounds)
        return plan.model_copy(update=self.options.options())

    def notes(self) -> tuple[str, ...]:
        """Return a note on the origin of the best plan and the number of replays."""
        kind = "compiled" if self.engine.make.compiled else "pure Python"
        return (
            f"best plan from {self.elites.best.origin}; "
            f"{counted(self.budget.evaluations, 'replay')} ({kind})",
        )

    def start(self) -> None:
        """Score the plan of every planner, and the warm start of the request."""
        given = self.request.start
        if isinstance(given, ReplicationPlan):
            self._baseline(given, "the given plan")
        # Complete plans of planners even after the limit, since a command may end a
        # little later.
        until = self.request.deadline.with_overtime(self._reserve)
        asked = replace(
            self.request, settings=None, start=None, policy=None, deadline=until
        )
        for name, planner in self.planners().items():
            slow = self.budget.replay_seconds > self.params.cheap_seconds
            late = until.expired() or (slow and self.budget.late())
            best = self.elites.best
            if self.target(best) or (best.origin and late):
                return
            try:
                plan = planner(self.problem, asked).plan
                assert plan is not None
            except (OutOfTime, NotApplicableError):
                continue
            if not best.origin:
                self.elites.best = replace(best, plan=plan, origin=name)
                if self.request.incumbents.plan is None:
                    # If the replay is interrupted, this plan is the answer.
                    self.request.incumbents.plan = plan
            with suppress(OutOfTime):
                self._baseline(plan, name)

    def planners(self) -> Mapping[str, Planner]:
        """Return the planners to use by name, the quickest first."""
        if self._slow_replays:
            return {"MinMin": minmin.solve}
        return BATCH_PLANNERS

    def _baseline(self, plan: ReplicationPlan, origin: str) -> None:
        """Score a complete plan under its own eviction policy, with the transfers that
        it carries out if any, then its queues under the policy of the search.
        """
        budget = self.budget
        begun = budget.clock()
        plan = plan.model_copy(update=self.options.options())
        queues = self.queues_of(plan)
        score = self._replayed(plan, queues, origin)
        budget.replay_seconds = budget.clock() - begun
        if origin == next(iter(self.planners())):
            # ``ioopt.solve`` replays the answer once more. Reserve time for a replay as
            # slow as this one.
            budget.end -= min(
                1.2 * budget.replay_seconds, 0.5 * max(0.0, budget.left())
            )
        if origin in self.planners():
            self.elites.of_planners = min(self.elites.of_planners, score)
        found = Best(
            score, queues=queues, eviction=plan.eviction, plan=plan, origin=origin
        )
        self.judge(found)
        self.offer(found)
        ours = self.engine.eviction
        if plan.eviction != ours:
            self.attempt(queues, f"{origin} with {ours} eviction")
        elif plan.carry_out:
            self.attempt(queues, f"the queues of {origin}")

    def queues_of(self, plan: ReplicationPlan) -> Queues:
        """Return the tasks in the queues of *plan*, without its copy entries."""
        index = self.problem.task_index
        queues = []
        for node in self.problem.nodes:
            entries = plan.order.get(node.id, ())
            queues.append([index[name] for name in entries if isinstance(name, str)])
        return queues

    def _replayed(self, plan: ReplicationPlan, queues: Queues, origin: str) -> float:
        """Return the measure, in seconds, of *plan*, whose tasks are in *queues*."""
        if not is_queues(self.problem, plan):
            replay = simulate(self.problem, plan)
            if self.additive:
                transfers = replay.schedule["transfers"]
                return plan_seconds(self.problem, plan, queues, transfers)
            return float(replay.metrics["makespan_seconds"])
        return self.engine.score(queues, plan.eviction)

    def improve(self) -> None:
        """Carry out the stages of the run one after the other."""
        for stage in self.stages():
            self.stage = stage
            self.budget.stage(stage.until)
            self._carry_out(stage)

    def stages(self) -> tuple[Stage, ...]:
        """Return the stages of the run.

        The first stage of a robust run anneals by exact replays, until a plan meets the
        bound or a share of the run is over. The second anneals under noise.
        """
        if not self.robust:
            return (Stage(1.0, self._sizes, self.restart),)
        long = self._replays() >= self.params.fewest_steady
        until = self.params.exact_share if long else 1.0
        exact = Stage(until, self._sizes, self.restart, ends_proven=True)
        return exact, Stage(1.0, self._steady_size, self.steady)

    def _carry_out(self, stage: Stage) -> None:
        """Make the restarts 0, 1 and so on of *stage* until it ends.

        In the last stage, a restart without a replay ends a run that only its time
        limits.
        """
        budget = self.budget
        for turn in range(self.params.most_restarts):
            if self.over():
                return
            before = budget.evaluations
            budget.begin(stage.size(turn))
            stage.restart(turn)
            if budget.evaluations == before:
                if not stage.ends_proven and budget.effort == inf:
                    budget.give_up()
                return

    def _steady_size(self, turn: int) -> int:
        """Return the number of replays of a restart under noise."""
        return max(1, int(min(self.params.steady_replays, self.budget.unused())))

    def steady(self, turn: int) -> None:
        """Anneal from the best plan, by the mean score over a few noisy replays.

        The draws of weights change at every judgement. No plan is accepted whose exact
        score is far above the least one. Of a planner's plan with copy entries or
        dispatches, the queues are annealed. Nothing is done if they cannot run, or if
        hardly a replay is left.
        """
        elites = self.elites
        start = elites.best
        if turn % 2 and elites.least.score < start.score:
            start = elites.least
        too_late = self.budget.unused() < 2 * self.params.all_draws
        if start.score == inf or too_late:
            return
        annealing = from_plan(self.engine, start.queues, start.rounds)
        score = annealing.line.now
        if score == inf:
            return
        elites.of_cycle = elites.best
        annealing.line.most_exact = max(self._most_exact(), score)
        hot = self._heat(start.score, self.params.steady_hot)
        cooling = NoisyCooling(self, annealing, "annealing under noise")
        cooling.cool(1.0, hot, self.params.steady_cold * hot)

    def _most_exact(self) -> float:
        """Return the exact score, in seconds, above which annealing under noise accepts
        no plan, unless it starts from one.
        """
        if self.elites.best.score <= self.target.proof:
            return self.target.proof
        dear = self.params.dearer * self.elites.least.score
        return min(self.elites.of_planners, dear)

    def next_draw(self) -> int:
        """Return the number of the first draw of noisy scores that the run has not
        used.
        """
        draws = self.params.steady_draws
        first = STEADY_DRAWS[self._redrawn * draws % len(STEADY_DRAWS)]
        self._redrawn += 1
        return first

    def _restart_sizes(self, evaluations: int | None) -> Doubling:
        """Return the numbers of replays of restarts; *evaluations* is the number of
        replays that was asked for (None: none was).
        """
        knobs = self.params
        each = knobs.evaluations_per_restart
        if self._orders_pay:
            each = knobs.evaluations_per_round
        most = each * len(self.problem.tasks)
        if evaluations and not self._orders_pay:
            most = evaluations
        return Doubling(evaluations or knobs.first_restart, most, self.budget)

    def restart(self, turn: int) -> None:
        """Perform restart number *turn*: anneal from the best plan of the present
        cycle.

        A cycle is a fixed number of restarts. Its first half begins from new starts,
        its second half from the best plan of the run. The restarts take the ways of
        annealing in turn.
        """
        elites = self.elites
        cycle = self.params.cycle
        place = turn % cycle
        fresh = place == 0
        if place == cycle // 2:
            elites.of_cycle = elites.best
        elif fresh and turn:
            elites.of_cycle = Best()
            self._ordered = None
        self.deal(fresh, first=turn == 0)
        if self.over():
            return
        if elites.of_cycle.score == inf:
            # No start fits the nodes, or there was no time to make one.
            elites.of_cycle = elites.best
        ways = self.ways()
        number, way = divmod(turn, len(ways))
        ways[way](number)

    def ways(self) -> list[Callable[[int], None]]:
        """Return the ways of annealing, each a function of the number of times that it
        was taken before.
        """
        if not self._orders_pay:
            return [self.anneal]
        if self._many:
            return [self.anneal_order]
        return [self.anneal_order, self.anneal]

    def deal(self, fresh: bool = True, first: bool = True) -> None:
        """Make new starts from the spectral order, if *fresh*.

        One start gives the tasks to the nodes in turn, one gives each node a stretch.
        With many tasks, whose orders are annealed instead, the starts are made only if
        *first*.
        """
        if not fresh or (self._orders_pay and self._many and not first):
            return
        nodes = len(self.problem.nodes)
        order = self._order
        in_turn = [order[i::nodes] for i in range(nodes)]
        in_stretches = stretches(self.problem, order)
        for how, queues in (("in turn", in_turn), ("in stretches", in_stretches)):
            if self._fit(queues) and not self.over():
                self.attempt(queues, f"the spectral order {how}")

    def _fit(self, queues: Queues) -> bool:
        """Return whether every task fits the node of its queue."""
        for i, queue in enumerate(queues):
            if not all(self.problem.fits(k, i) for k in queue):
                return False
        return True

    def anneal_order(self, turn: int) -> None:
        """Anneal one order of all tasks by its bytes, then with barriers by replays.

        It continues from the best order of the cycle, if there is one. *turn* selects
        the first order and its temperature.
        """
        knobs = self.params
        now = self.budget.progress()
        if self._ordered is None:
            line = by_bytes(self.engine, self._order, in_turn=turn % 2 == 0)
            hot = self._heat(self.bound, knobs.order_hot[turn % 2])
        else:
            line = again(self.engine, self._ordered)
            hot = self._heat(self.bound, knobs.order_warm)
        until = now + (1.0 - now) * knobs.order_share
        self._cool(line, until, hot, BY_ORDER)
        self._ordered = line
        if self.over():
            return
        barred = with_barriers(self.engine, line, len(self.problem.nodes))
        warm = self._heat(self.bound, knobs.warm)
        self._cool(barred, 1.0, warm, f"{BY_ORDER}, then with barriers")

    def anneal(self, turn: int = 0) -> None:
        """Anneal from the best queues of the cycle until the restart ends.

        *turn* selects the first temperature.
        """
        annealing = by_replays(self.engine, self.elites.of_cycle.queues)
        if annealing.seconds < inf:
            hot = self._heat(annealing.seconds, self.params.heats[turn % 2])
            self._cool(annealing, 1.0, hot, "annealing")

    def _heat(self, score: float, share: float) -> float:
        """Return a temperature in seconds: *share* of *score*, or less if there are
        many tasks.
        """
        many = self.params.many_tasks
        return score * (many / max(many, len(self.problem.tasks))) * share

    def _cool(
        self, annealing: Annealing, until: float, hot: float, origin: str
    ) -> None:
        """Cool *annealing* from temperature *hot*, in seconds, until share *until* of
        the restart is finished.

        In a robust run, its plans are judged by noisy replays if they are replayed at
        all. *origin* describes them.
        """
        judged = self.robust and not annealing.by_bytes
        kind = JudgedCooling if judged else Cooling
        cold = hot * self.params.cold / self.params.heats[0]
        kind(self, annealing, origin).cool(until, hot, cold)
