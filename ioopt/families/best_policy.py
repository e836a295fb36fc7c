"""Define the solver ``auto``, which tries each policy of a kind and returns the best
plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ioopt.families import Kind, SolverSpec
from ioopt.options import OVERTIME_SECONDS
from ioopt.problems.base import Problem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason

RECORDED_RUN_FACTOR = 4.0
"""The factor by which a run with records is assumed to take longer than a trial without
records.
"""


def best_of(
    kinds: Sequence[Kind], rows: Sequence[SolverSpec]
) -> Callable[[Problem, SolveRequest], Outcome]:
    """Return a solver that tries all policies of the problem's kind; *kinds* and *rows*
    are the kinds and the solvers of its family.
    """
    row_of = {row.name: row for row in rows}

    def solve(problem: Problem, request: SolveRequest) -> Outcome:
        """Try every policy while there is time, and return the best plan."""
        for kind in kinds:
            if isinstance(problem, kind.problem_class()):
                policies = [row_of[name] for name in kind.policies]
                return _Trials(kind, policies, problem, request).run()
        raise TypeError(f"no kind of {type(problem).__name__}")

    return solve


class _Trials:
    """The trials of all policies of a kind on one problem, one policy after the
    other.
    """

    def __init__(
        self,
        kind: Kind,
        policies: Sequence[SolverSpec],
        problem: Problem,
        request: SolveRequest,
    ) -> None:
        self.kind = kind
        self.policies = policies
        self.problem = problem
        self.request = request
        self.values: dict[str, float] = {}
        """Policy -> objective of its plan, in the order of the trials."""
        self.best: Outcome = Outcome(None)
        self.best_row: SolverSpec | None = None
        self.last_seconds = 0.0

    def run(self) -> Outcome:
        """Try the policies in turn and return the best plan. The first trial may end
        late, because no earlier plan could be the answer.
        """
        deadline = self.request.deadline
        for row in self.policies:
            if self.values and deadline.expired():
                break
            begun = deadline.elapsed()
            outcome = self._trial(row)
            if outcome.stop is not StopReason.FINISHED:
                # The policy is late, but an earlier trial has an answer already.
                if not self.values:
                    return outcome
                break
            self.last_seconds = deadline.elapsed() - begun
            self._keep(row, outcome)
        return self._answer()

    def _trial(self, row: SolverSpec) -> Outcome:
        """Run one policy without records. From the second policy on, some time is left
        for making the answer.
        """
        deadline = self.request.deadline
        if self.values:
            deadline = deadline.within(deadline.remaining() - OVERTIME_SECONDS)
        asked = replace(self._asked(row), deadline=deadline, trials=len(self.policies))
        found: Outcome = row.solve_function()(self.problem, asked)
        return found

    def _asked(self, row: SolverSpec) -> SolveRequest[Any, Any]:
        """Return the request for the solver *row*, with the solver's settings and
        policy.
        """
        settings = row.default_settings()
        return replace(
            self.request, settings=settings, policy=row.make_policy(settings)
        )

    def _keep(self, row: SolverSpec, outcome: Outcome) -> None:
        """Store the objective of a finished trial, and its plan if it is the best so
        far.
        """
        if outcome.simulation is not None:
            measured = outcome.simulation.metrics
        else:
            measured = self.kind.check(self.problem, outcome.plan, None).objectives
        objective = self.kind.objective
        value = measured[objective.name]
        self.values[row.name] = value
        self.request.incumbents.report(outcome.plan, value)
        if self.best_row is None:
            better = True
        elif objective.sense == "max":
            better = value > self.values[self.best_row.name]
        else:
            better = value < self.values[self.best_row.name]
        if better:
            self.best = outcome
            self.best_row = row

    def _answer(self) -> Outcome:
        """Return the best plan, with notes, and with records if there is time to make
        them.
        """
        best = self._recorded()
        tried = ", ".join(self.values)
        chosen = self.best_row.name if self.best_row is not None else ""
        notes = [f"{chosen} is the best of {tried}"]
        late = [row.name for row in self.policies[len(self.values) :]]
        stop = StopReason.FINISHED
        if late:
            notes.append(f"no time was left for {', '.join(late)}")
            stop = StopReason.TIME
        return replace(best, stop=stop, notes=(*notes, *best.notes))

    def _recorded(self) -> Outcome:
        """Return the outcome of the best policy. The policy runs again, with records,
        if its trial left them out and enough time is left.
        """
        deadline = self.request.deadline
        enough = deadline.remaining() > RECORDED_RUN_FACTOR * self.last_seconds
        if self.best_row is None or not (self.best.trial and enough):
            return self.best
        row = self.best_row
        whole: Outcome = row.solve_function()(
            self.problem, replace(self._asked(row), trials=0)
        )
        return whole if whole.stop is StopReason.FINISHED else self.best
