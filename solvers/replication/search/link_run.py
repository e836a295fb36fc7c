"""Run the link-aware search once: start from plans of planners and from orders, then
anneal.

See :mod:`ioopt.solvers.replication.search.link_aware`.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from math import inf

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
from ioopt.solvers.replication.search.flow_deal import stretches
from ioopt.solvers.replication.search.judge import (
    FINAL_DRAW,
    STEADY_DRAWS,
    Best,
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
        gap = request.options.gap or 0.0
        self.proof = self.bound * (1 + 1e-10)
        self.target = max(self.bound / (1.0 - min(gap, 0.999)), self.proof)
        self.best = Best()
        self._of_planners = inf
        self._least = Best()
        self._redrawn = 0
        self._exact = False
        self._finalists: list[Best] = []
        self._met = 0
        request.incumbents.objective_name = self.objective_name
        request.incumbents.bound = self.bound
        self._said = -1.0
        self._cells = params.cells(problem)
        self._slow_replays = self._cells > self.params.slow_cells
        left = request.deadline.remaining()
        self._reserve = self._kept_seconds(left)
        self.budget = self._budget(evaluations, left)
        self._orders_pay = self.params.orders_pay(problem) and not self._slow_replays
        self._many = len(problem.tasks) >= self.params.many_tasks
        self._evaluations = evaluations
        self._elite = Best()
        self._ordered: Annealing | None = None
        self.options = request.settings or RULES
        seed = request.options.seed
        noise = judging_noise(problem)
        self.engine = Engine(problem, seed, self.options, self.additive, noise=noise)
        self._judge = Judge(self.engine, noise, self.budget)
        self.robust = robust and self._replays() >= self.params.fewest_judged
        self.budget.choice = self.robust

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

    def reached(self) -> bool:
        """Return whether the best plan meets the lower bound or the requested gap.

        In a robust run, it must also hold under noise, or enough replays must have
        looked for one that does.
        """
        if self.best.score > self.target:
            return False
        steady = self.best.rank <= self.params.steady * self.best.score
        patience = self.params.patience * len(self.problem.tasks)
        return steady or self.budget.evaluations >= self._met + patience

    def over(self) -> bool:
        """Return whether the run must end now; time alone does not end it before it has
        a plan.
        """
        late = self.budget.late() and self.best.score < float("inf")
        proven = self._exact and self.best.score <= self.proof
        return proven or self.reached() or self.budget.counted_out() or late

    def stop(self) -> StopReason:
        """Return the reason why the run ended."""
        if self.reached():
            if self.best.score <= self.bound * (1 + 1e-9):
                return StopReason.FINISHED
            return StopReason.GAP
        if self.budget.late() and not self.budget.counted_out():
            return StopReason.TIME
        return StopReason.ITERATIONS

    def key(self, found: Best) -> tuple[int, float]:
        """Return the key by which plans compete: the least is the best."""
        return self._kind(found.score), found.rank

    def _kind(self, score: float) -> int:
        """Return the kind of a plan with this *score*: 0 if it meets the bound, 1 if it
        is no worse than the planners' plans, else 2.

        Plans of a search that is not robust are all of one kind.
        """
        if not self.robust:
            return 0
        if score <= self.proof:
            return 0
        return 1 if score <= self._of_planners else 2

    def offer(self, found: Best) -> None:
        """Make *found* the best plan if its key is less; report it at most once a
        second.
        """
        if found.score < self._least.score:
            self._least = found
        if self.robust:
            self._keep_finalist(found)
        if self.key(found) < self.key(self._elite):
            self._elite = found
        if self.key(found) >= self.key(self.best):
            return
        if self.best.score > self.target >= found.score:
            self._met = self.budget.evaluations
        self.best = found
        now = self.budget.clock()
        if self._said < 0 or now - self._said > 1.0:
            self._said = now
            self.tell()

    def tell(self) -> None:
        """Report the best plan, which answers for a run that is interrupted."""
        if self.best.score < inf:
            self.request.incumbents.report(
                self.best_plan(), self.best.score, self.bound, selected=self.robust
            )

    def _keep_finalist(self, found: Best) -> None:
        """Keep *found* for the choice at the end, if it may be among the best."""
        near = self.params.near * min(found.rank, self.best.rank)
        if found.rank == inf or found.rank > near:
            return
        self._finalists.append(found)
        self._finalists.sort(key=self.key)
        del self._finalists[self.params.finalists :]

    def judge(self, found: Best) -> None:
        """Set the rank of *found*: in a robust run by noisy replays, else its score."""
        found.rank = found.score
        if not self.robust or found.score == inf:
            return
        kind = self._kind(found.score)
        if kind > self._kind(self.best.score):
            found.rank = inf
            return
        rival = self._elite
        least = rival.rank if kind == self._kind(rival.score) else inf
        found.rank = self._judge.rank(found, least)

    def finish(self) -> None:
        """Choose the answer of a robust run: of the finalists, the one with the least
        mean over noisy replays by other draws.
        """
        draws = self.params.final_draws
        count = self.budget.finalists(self.budget.evaluations)
        rivals = []
        for found in self._finalists[:count]:
            if self._kind(found.score) == self._kind(self.best.score):
                mean = self._judge.mean(found, FINAL_DRAW, draws)
                rivals.append(replace(found, rank=mean))
        if len(rivals) > 1:
            self.best = min(rivals, key=self.key)

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
        best = self.best
        if best.plan is not None:
            return best.plan
        plan = build_plan(self.problem, best.queues, best.eviction, rounds=best.rounds)
        return plan.model_copy(update=self.options.options())

    def notes(self) -> tuple[str, ...]:
        """Return a note on the origin of the best plan and the number of replays."""
        kind = "compiled" if self.engine.make.compiled else "pure Python"
        return (
            f"best plan from {self.best.origin}; "
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
            if self.reached() or (self.best.origin and late):
                return
            try:
                plan = planner(self.problem, asked).plan
                assert plan is not None
            except (OutOfTime, NotApplicableError):
                continue
            if not self.best.origin:
                self.best = replace(self.best, plan=plan, origin=name)
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
            self._of_planners = min(self._of_planners, score)
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
        """Make restarts until the time, the number of replays or the bound ends the
        run.

        The first stage of a robust run anneals by exact replays, until a plan meets the
        bound or a share of the run is over. The second anneals under noise.
        """
        if not self.robust:
            self._repeat(self._size, self.restart)
            return
        self._exact = True
        if self._replays() >= self.params.fewest_steady:
            self.budget.stage(self.params.exact_share)
        self._repeat(self._size, self.restart)
        self._exact = False
        self.budget.stage(1.0)
        self._repeat(self._steady_size, self.steady)

    def _repeat(
        self, size: Callable[[int], int], restart: Callable[[int], None]
    ) -> None:
        """Call *restart* with 0, 1 and so on until the present stage ends.

        In the last stage, a restart without a replay ends a run that only its time
        limits. *size* returns the number of replays of a restart.
        """
        budget = self.budget
        for turn in range(self.params.most_restarts):
            if self.over():
                return
            before = budget.evaluations
            budget.begin(size(turn))
            restart(turn)
            if budget.evaluations == before:
                if not self._exact and budget.effort == inf:
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
        best = self.best
        start = self._least if turn % 2 and self._least.score < best.score else best
        too_late = self.budget.unused() < 2 * self.params.all_draws
        if start.score == inf or too_late:
            return
        annealing = from_plan(self.engine, start.queues, start.rounds)
        score = annealing.line.now
        if score == inf:
            return
        self._elite = best
        annealing.line.most_exact = max(self._most_exact(), score)
        self._redraw(annealing)
        hot = self._heat(start.score, self.params.steady_hot)
        cold = self.params.steady_cold * hot
        self._cool(annealing, 1.0, hot, cold, "annealing under noise")

    def _most_exact(self) -> float:
        """Return the exact score, in seconds, above which annealing under noise accepts
        no plan, unless it starts from one.
        """
        if self.best.score <= self.proof:
            return self.proof
        return min(self._of_planners, self.params.dearer * self._least.score)

    def _redraw(self, annealing: Annealing) -> None:
        """Score the plans of *annealing* by noisy replays that it has not used."""
        draws = self.params.steady_draws
        first = STEADY_DRAWS[self._redrawn * draws % len(STEADY_DRAWS)]
        annealing.redraw(draws, first)
        self._redrawn += 1
        self.budget.evaluations += annealing.replays(1)

    def _size(self, turn: int) -> int:
        """Return the number of replays of restart *turn*.

        It is twice that of the previous restart, up to a limit.
        """
        knobs = self.params
        most = knobs.evaluations_per_restart
        if self._orders_pay:
            most = knobs.evaluations_per_round
        first = self._evaluations or knobs.first_restart
        size = min(first << min(turn, 40), most * len(self.problem.tasks))
        if self._evaluations and not self._orders_pay:
            size = self._evaluations
        left = self.budget.unused()
        return int(left) if left < 2 * size else size

    def restart(self, turn: int) -> None:
        """Perform restart number *turn*: anneal from the best plan of the present
        cycle.

        A cycle is a fixed number of restarts. Its first half begins from new starts,
        its second half from the best plan of the run.
        """
        cycle = self.params.cycle
        place = turn % cycle
        fresh = place == 0
        if place == cycle // 2:
            self._elite = self.best
        elif fresh and turn:
            self._elite = Best()
            self._ordered = None
        self.deal(fresh, first=turn == 0)
        if self.over():
            return
        if self._elite.score == inf:
            # No start fits the nodes, or there was no time to make one.
            self._elite = self.best
        if not self._orders_pay:
            self.anneal(turn)
        elif self._many:
            self._orders(turn)
        elif turn % 2:
            self.anneal(turn // 2)
        else:
            self._orders(turn // 2)

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

    def _orders(self, turn: int) -> None:
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
        self._cool(line, until, hot, self._cold(hot), BY_ORDER)
        self._ordered = line
        if self.over():
            return
        barred = with_barriers(self.engine, line, len(self.problem.nodes))
        warm = self._heat(self.bound, knobs.warm)
        cold = self._cold(warm)
        self._cool(barred, 1.0, warm, cold, f"{BY_ORDER}, then with barriers")

    def anneal(self, turn: int = 0) -> None:
        """Anneal from the best queues of the cycle until the restart ends.

        *turn* selects the first temperature.
        """
        annealing = by_replays(self.engine, self._elite.queues)
        if annealing.seconds < inf:
            hot = self._heat(annealing.seconds, self.params.heats[turn % 2])
            self._cool(annealing, 1.0, hot, self._cold(hot), "annealing")

    def _heat(self, score: float, share: float) -> float:
        """Return a temperature in seconds: *share* of *score*, or less if there are
        many tasks.
        """
        many = self.params.many_tasks
        return score * (many / max(many, len(self.problem.tasks))) * share

    def _cold(self, hot: float) -> float:
        """Return the last temperature of an annealing that starts at *hot*."""
        return hot * self.params.cold / self.params.heats[0]

    def _cool(
        self, annealing: Annealing, until: float, hot: float, cold: float, origin: str
    ) -> None:
        """Anneal from temperature *hot* to *cold*, in seconds, until share *until* of
        the restart is finished.

        *origin* describes the plans that are found.
        """
        budget = self.budget
        base = budget.evaluations
        total = self._moves(until, annealing)
        judged = self._judged(annealing)
        every = self._judged_every() if judged else total
        target = 0.0 if judged else self.target
        steps = 1
        while not self.over():
            first = annealing.evaluations
            if first >= total:
                break
            begun = budget.clock()
            steps = min(steps, total - first)
            stretch = min(steps, every - first % every)
            annealing.run(stretch, hot, cold, target, first, total)
            made = annealing.evaluations - first
            budget.evaluations = base + annealing.replays(annealing.evaluations)
            replays = max(1, annealing.replays(made))
            budget.replay_seconds = (budget.clock() - begun) / replays
            seconds = min(self.params.stretch_seconds, 0.5 * max(0.0, budget.left()))
            fitting = annealing.steps(int(seconds / max(budget.replay_seconds, 1e-7)))
            # Replays may end early, and then predict the time of later ones badly. The
            # number of steps therefore at most doubles.
            steps = min(self.params.most_steps, fitting, 2 * steps)
            ended = annealing.evaluations >= total
            due = ended or annealing.evaluations % every == 0
            if judged and due and budget.unused() >= self._judgement(annealing):
                before = budget.evaluations
                self._offer_present(annealing, origin)
                if annealing.line.draws:
                    self._redraw(annealing)
                base += budget.evaluations - before
            elif not judged and annealing.best_score < self._elite.score:
                self._offer_best(annealing, origin)
            if not made:
                break
        if judged and not annealing.line.draws:
            self._offer_least(annealing, origin)

    def _judged(self, annealing: Annealing) -> bool:
        """Return whether noisy replays judge the plans of *annealing*."""
        return self.robust and not annealing.by_bytes

    def _judgement(self, annealing: Annealing) -> int:
        """Return the largest number of replays of one judgement.

        An annealing under noise needs the exact score of its present plan, and scores
        the plan again by other draws.
        """
        again = 1 + annealing.replays(1) if annealing.line.draws else 0
        return self.params.all_draws + again

    def _judged_every(self) -> int:
        """Return the number of moves from one judgement to the next."""
        if self.best.score <= self.proof:
            return self.params.judged_proven
        return self.params.judged_every

    def _moves(self, until: float, annealing: Annealing) -> int:
        """Return the number of moves until share *until* of the restart is finished.

        The replays of judgements are taken off.
        """
        left = max(1, round((until - self.budget.progress()) * self.budget.size))
        if not self._judged(annealing):
            return annealing.steps(left)
        # The last judgement must fit too: it judges the coldest plan.
        judgement = self._judgement(annealing)
        every = self._judged_every()
        whole, rest = divmod(left, annealing.replays(every) + judgement)
        return max(1, whole * every + annealing.steps(max(0, rest - judgement)))

    def _offer_best(self, annealing: Annealing, origin: str) -> None:
        """Offer the best plan of *annealing*."""
        self.offer(self._best_of(annealing, origin))

    def _best_of(self, annealing: Annealing, origin: str) -> Best:
        """Return the best plan of *annealing*."""
        return Best(
            annealing.best_score,
            annealing.best_score,
            queues=annealing.best_queues(),
            eviction=self.engine.eviction,
            origin=origin,
            rounds=annealing.best_rounds(),
        )

    def _offer_least(self, annealing: Annealing, origin: str) -> None:
        """Keep the best plan of *annealing* as the one of least exact score, if it
        is.
        """
        if annealing.best_score < self._least.score:
            self._least = self._best_of(annealing, origin)

    def _offer_present(self, annealing: Annealing, origin: str) -> None:
        """Judge the present plan of *annealing* by noisy replays, and offer it."""
        if annealing.line.draws:
            self.budget.evaluations += 1
        found = Best(
            annealing.exact_score(),
            queues=annealing.present_queues(),
            eviction=self.engine.eviction,
            origin=origin,
            rounds=annealing.present_rounds(),
        )
        self.judge(found)
        self.offer(found)
