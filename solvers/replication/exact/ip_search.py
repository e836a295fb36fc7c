"""The steps of the exact search of ``ip``, in the order given in
docs/replication-models.md.
"""

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from ioopt.compiled.library import maker
from ioopt.models.replication import bounds
from ioopt.models.replication.aggregated import AggregatedModel, num_columns
from ioopt.models.replication.static import (
    Cycles,
    Moves,
    StaticInstance,
    enough_disk,
    fits,
    loads,
    past_relays,
    relays_matter,
    roomy,
    tidied,
    to_plan,
)
from ioopt.problems.base import Record
from ioopt.protocols import SolveRequest
from ioopt.result import OPTIMAL_RELATIVE_GAP, Status
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.replication.exact import enumeration
from ioopt.solvers.replication.search.anneal import anneal, placed_by_disk, steps_within

PROOF = {"symmetry_level": 2, "linearization_level": 2}
"""Parameters of CP-SAT for a proof.

With full linearisation a proof took 2.6 s, with level 1 it took 15 s and more.
"""
REFUTATION = {**PROOF, "stop_after_first_solution": True}
"""Parameters of CP-SAT for a proof that there is no solution."""
SEARCH = {"symmetry_level": 0}
"""Parameters of CP-SAT for the search for a better plan.

Symmetries are off: with them, presolve can reject a complete feasible hint.
"""
PROVEN = 0.5 * OPTIMAL_RELATIVE_GAP
"""Largest relative gap that counts as proven, since times are rounded to units."""
SMALL_COLUMNS = 1_500
"""Largest number of columns for which CP-SAT and the enumeration run in parallel."""


class CutShares(Record):
    """Say for which costs of shared files a proof is tried, one after the other.

    They are shares of the mean cost to a node in the best plan: ``first``, and after
    each proof ``step`` of the way to 1, up to ``last``. The values were chosen on
    IMAGE-85 of 100 tasks on 4 nodes, seeds 1 to 4: there a proof for 0.65 takes 3 to 5
    processor seconds, and one for 0.8 seldom ends.
    """

    first: Annotated[float, Field(gt=0, lt=1)] = 0.66
    step: Annotated[float, Field(gt=0, lt=1)] = 0.25
    last: Annotated[float, Field(gt=0, lt=1)] = 0.98


CUT_SHARES = CutShares()


class Search:
    """Track the best plan and the lower bounds while the steps of the search run.

    Loads and bounds are in units of the instance. ``cycles`` and ``replication`` choose
    the model. ``bound`` is valid for plans of one round that satisfy equation (2) and
    never evict held files; ``common`` is valid for every plan that the checker accepts.

    While ``relays`` is set, nodes may send on copies of files that they do not read, so
    that the models prove bounds of all plans. The first plan with relays that is better
    than the best plan clears ``relays``; with ``loose`` such a plan becomes the best
    plan instead. ``infeasible``: it is proven that no plan of one round exists.
    """

    def __init__(
        self,
        instance: StaticInstance,
        request: SolveRequest,
        cycles: Cycles,
        replication: bool,
    ) -> None:
        self.instance = instance
        self.request = request
        self.deadline = request.deadline
        self.cycles = cycles
        self.replication = replication
        self.loose = False
        self.moves: Moves | None = None
        self.load = 1 << 62
        self.bound = 0
        self.common = 0
        whole = replication and cycles == "acyclic"
        self.may_relay = whole and relays_matter(instance)
        self.relays = self.may_relay
        self.infeasible = False
        self.going: enumeration.Enumeration | None = None
        self.notes: list[str] = []
        self.versions: dict[str, str] = {}
        self.lock = threading.Lock()

    @property
    def of_all_plans(self) -> bool:
        """Return whether bounds from the models, as now configured, are valid for all
        plans.

        All plans are those of the solver's variant: with or without copies.
        """
        return roomy(self.instance) and self.relays == self.may_relay

    def proven(self) -> bool:
        """Return whether the gap is at most :data:`PROVEN` of the best load, or one
        round is proven infeasible.
        """
        if self.infeasible:
            return True
        if self.moves is None:
            return False
        return self.load - self.bound <= PROVEN * self.load

    def of_all_plans_too(self) -> bool:
        """Return whether the bound of plans of one round is proven for every plan."""
        return self.bound - self.common <= PROVEN * self.bound

    def target(self) -> int:
        """Return the largest load that improves the best load by more than the proof
        tolerance.
        """
        return self.load - 1 - int(PROVEN * self.load)

    def good_enough(self) -> bool:
        """Return whether the requested gap is reached."""
        gap = self.request.options.gap
        if gap is None or self.moves is None:
            return False
        return (self.load - self.bound) / max(self.load, 1) <= gap

    def over(self) -> bool:
        """Return whether the search must end: proof, requested gap or deadline."""
        return self.proven() or self.good_enough() or self.deadline.expired()

    def offer(self, moves: Moves | None) -> None:
        """Make *moves* the best plan if they fit the disks and their load is less.

        Relays are removed first unless ``loose`` is set.
        """
        if moves is None:
            return
        moves = tidied(self.instance, moves)
        direct = moves
        if not self.loose:
            direct = past_relays(self.instance, moves)
        self._keep(direct)
        if direct != moves and max(loads(self.instance, moves)) < self.load:
            self.relays = False

    def _keep(self, moves: Moves) -> None:
        """Make *moves* the best plan if they fit the disks and their load is less;
        report it.
        """
        load = max(loads(self.instance, moves), default=0)
        with self.lock:
            if load >= self.load or not fits(self.instance, moves):
                return
            self.moves = moves
            self.load = load
        # If the run is interrupted, its answer is the best plan reported so far.
        plan = to_plan(self.instance, moves, self.cycles == "printed")
        seconds = self.instance.seconds
        bound = seconds(self.common) if self.common else None
        self.request.incumbents.report(plan, seconds(load), bound)

    def raise_bound(self, units: float | None, of_all_plans: bool = False) -> None:
        """Record *units* as a proven lower bound of the load.

        With *of_all_plans* it is a bound for every plan, not only for plans of one
        round. Loads are whole units, so the bound of a backend is rounded up, after a
        small allowance for its rounding errors.
        """
        if units is None or not math.isfinite(units):
            return
        whole = units
        if isinstance(units, float):
            whole = units - max(1e-6, 1e-9 * abs(units))
        least = math.ceil(whole)
        with self.lock:
            self.bound = max(self.bound, least)
            if of_all_plans or self.of_all_plans:
                self.common = max(self.common, least)
            # If the run is interrupted, its answer has the last bound reported.
            self.request.incumbents.bound = self.instance.seconds(self.common)

    # ------------------------------------------------------------------------------
    # the steps of the search

    def quick_bounds(self) -> None:
        """Record the bounds that need no search, and whether the disks together are too
        small.

        The bounds are the area bound and the least time of the largest task.
        """
        self.infeasible = not enough_disk(self.instance)
        self.raise_bound(math.ceil(bounds.area(self.instance)), of_all_plans=True)
        self.raise_bound(bounds.largest_task(self.instance), of_all_plans=True)

    def partition_bound(self, share: float) -> None:
        """Record the bound of a small CP-SAT model, which divides the weights of the
        files among the nodes, within *share* of the time left.
        """
        instance = self.instance
        weights = bounds.file_weights(instance, self.cycles, self.replication)
        partition = bounds.partition_model(weights, instance.num_nodes, self.common)
        if partition is None:
            return
        seconds = min(2.0, share * self.deadline.remaining())
        answer = solve_by_cpsat(partition, BackendLimits(seconds=seconds, work=1.0))
        if answer.bound is not None:
            self.raise_bound(round(answer.bound), of_all_plans=True)

    def node_cut(self, seconds: float) -> None:
        """Raise the bound by what shared files cost the nodes of every better plan.

        CP-SAT is asked for a node that costs less than a share of what the nodes of the
        best plan cost on average. If there is none, the bound and the share rise.
        Otherwise the multipliers change so that this node costs more.
        """
        if self.moves is None or self.instance.num_nodes == 1:
            return
        within = self.deadline.within(seconds)
        cut = bounds.NodeCut(self.instance, self.load - 1, self.replication)
        cuts = cut.cuts(self.moves)
        mean = sum(cuts) / len(cuts)
        cut.even_out(self.moves)
        share = CUT_SHARES.first
        while share < CUT_SHARES.last and not (self.over() or within.expired()):
            most = cut.ask(share * mean)
            limits = BackendLimits.of(self.request, within.remaining())
            limits = replace(limits, gap=None)
            answer = solve_by_cpsat(cut.program, limits, parameters=REFUTATION)
            if answer.status is Status.INFEASIBLE:
                least = min(self.load, cut.least_load(most + 1))
                self.raise_bound(least, of_all_plans=True)
                share += CUT_SHARES.step * (1.0 - share)
            elif answer.found:
                cut.avoid(answer.values, mean)
            else:
                return

    def anneal(self, share: float, rounds: int, again: bool = False) -> None:
        """Anneal from *rounds* seeds, within *share* of the time limit.

        Small instances take few steps. *again*: use new seeds, and the full number of
        steps.
        """
        limit = min(self.request.options.time_limit_seconds or 60.0, 600.0)
        seed = self.request.options.seed
        if again:
            seed += rounds
        placed: tuple[int, ...] = ()
        for number in range(rounds):
            # Even if no time is left, the first round offers its initial state.
            if self.proven() or (self.over() and self.moves is not None):
                return
            placed = placed or placed_by_disk(self.instance)
            start = placed
            if self.moves is not None and number % 2 == 1:
                start = self.moves.assign
            steps = steps_within(self.instance, share * limit, rounds, self.deadline)
            if num_columns(self.instance) <= SMALL_COLUMNS and not again:
                steps = min(steps, 2_000 * (len(self.instance.problem.tasks) + 1))
            found, _ = anneal(
                self.instance,
                self.replication,
                seed + number,
                steps,
                self.deadline,
                start,
            )
            self.offer(found)

    def enumerate(self, fast: bool = False) -> None:
        """Enumerate all plans if the instance is small enough.

        The enumeration takes a fraction of a second, or with *fast* some seconds in
        compiled code.
        """
        if self.over() or not enumeration.applies(self.instance):
            return
        if fast and not maker().compiled:
            return
        search = enumeration.Enumeration(
            self.instance,
            self.cycles,
            self.replication,
            self.deadline,
            self.relays,
        )
        self._advance(search, enumeration.MOST_NODES_VISITED[fast], threading.Event())
        self.going = search if fast else None

    def _advance(
        self, search: enumeration.Enumeration, nodes: int, cancel: threading.Event
    ) -> None:
        """Continue *search* for *nodes* tree nodes, and record the bound if it ends.

        Stop early if *cancel* is set or ``relays`` has changed.
        """

        def over() -> bool:
            return self.over() or search.relays != self.relays or cancel.is_set()

        bound = search.advance(nodes, over, self.target, self.offer)
        if bound is not None and self.moves is None:
            self.infeasible = True
        elif bound is not None:
            self.raise_bound(bound)

    def race(self) -> None:
        """Run CP-SAT and the interrupted enumeration in parallel until one of them has
        a proof.
        """
        cancel = threading.Event()
        going = self.going

        def enumerate_on() -> None:
            if going is not None:
                self._advance(going, 1 << 40, cancel)
            if self.over():
                cancel.set()

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(enumerate_on)
            try:
                self.close_in(cancel)
            finally:
                cancel.set()
            running.result()

    def close_in(self, cancel: threading.Event) -> None:
        """Ask CP-SAT repeatedly for any plan with a load up to a target.

        The target alternates between half way to the bound and just below the best
        load.
        """
        seconds = 2.0
        while not self.over() and not cancel.is_set():
            if self.moves is None:
                self.run_cpsat(seconds, cancel=cancel)
            else:
                self.ask((self.bound + self.target()) // 2, seconds, cancel)
                if not self.over() and not cancel.is_set():
                    self.ask(self.target(), seconds, cancel)
            seconds *= 2

    def ask(self, target: int, seconds: float, cancel: threading.Event) -> None:
        """Ask CP-SAT once for any plan with a load of at most *target* units."""
        model = self.model(target)
        limits = replace(BackendLimits.of(self.request, seconds), gap=None)
        answer = solve_by_cpsat(
            model.program, limits, objective=False, parameters=PROOF, cancel=cancel
        )
        self._take(model, answer, "ortools", target)

    def run_cpsat(
        self,
        seconds: float | None,
        proof: bool = True,
        work: float | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        """Solve the model once with CP-SAT, to prove the optimum if *proof*, else to
        improve the plan.

        A proof uses symmetry detection; an improvement starts from the best plan as a
        hint. *work* limits CP-SAT's deterministic seconds.
        """
        # Models with relays are worth their size only if a proof is likely.
        self.relays = self.relays and proof
        upper = None
        if proof and self.moves is not None:
            upper = self.target()
        model = self.model(upper)
        hint = None
        if not proof and self.moves is not None:
            hint = model.hint(self.moves)
        limits = replace(BackendLimits.of(self.request, seconds), work=work)

        def watch(callback: Any) -> None:
            self.offer(model.moves(dict(enumerate(callback.response_proto.solution))))

        answer = solve_by_cpsat(
            model.program,
            limits,
            hint,
            parameters=PROOF if proof else SEARCH,
            on_solution=watch,
            cancel=cancel,
        )
        self._take(model, answer, "ortools", upper)

    def run_highs(self, backend: str) -> None:
        """Solve the model once with *backend*, which computes in floating point."""
        model = self.model(None)
        start = None if self.moves is None else model.hint(self.moves)
        answer = solve_program(
            model.program, backend, BackendLimits.of(self.request), start
        )
        self._take(model, answer, backend, None)

    def model(self, upper: int | None) -> AggregatedModel:
        """Return the aggregated model for loads up to *upper* units, with the bound
        known so far.
        """
        most = None if upper is None else max(upper, self.bound)
        return AggregatedModel(
            self.instance,
            cycles=self.cycles,
            replication=self.replication,
            relays=self.relays,
            lower=self.bound,
            upper=most,
        )

    def _take(
        self,
        model: AggregatedModel,
        answer: BackendAnswer,
        package: str,
        below: int | None,
    ) -> None:
        """Record the plan and the bound in a backend's *answer*.

        *below* is the largest load that the model allowed, in units (None: no limit).
        """
        self.versions[package] = answer.version
        if answer.status is Status.INFEASIBLE:
            if below is not None:
                self.raise_bound(below + 1)
            elif self.moves is None:
                self.infeasible = True
            return
        if answer.found:
            self.offer(model.moves(answer.values))
        if answer.bound is not None:
            # CP-SAT computes with whole numbers, the other backends with floats.
            whole = package == "ortools"
            self.raise_bound(round(answer.bound) if whole else answer.bound)
