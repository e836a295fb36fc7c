"""Define the solver ``auto``, which tries each policy and returns the best plan."""

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
"""How many times longer a run with records may take than a trial without them."""


def best_of(
    kinds: Sequence[Kind], rows: Sequence[SolverSpec]
) -> Callable[[Problem, SolveRequest], Outcome]:
    """Return a solver that tries the policies of the problem's kind, which is one of
    *kinds*; *rows* are the solvers of the family.
    """
    row_of = {row.name: row for row in rows}

    def solve(problem: Problem, request: SolveRequest) -> Outcome:
        """Run every policy while there is time; return the best plan."""
        for kind in kinds:
            if isinstance(problem, kind.problem_class()):
                policies = [row_of[name] for name in kind.policies]
                return _Trials(kind, policies, problem, request).run()
        raise TypeError(f"no kind of {type(problem).__name__}")

    return solve


class _Trials:
    """Run the policies one after the other on one problem."""

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
        """Try the policies in turn. The first may end late, because there is no earlier
        plan to answer with.
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
        """Run one policy; from the second policy on, leave time for making the
        answer.
        """
        deadline = self.request.deadline
        if self.values:
            deadline = deadline.within(deadline.remaining() - OVERTIME_SECONDS)
        asked = replace(self._asked(row), deadline=deadline, trials=len(self.policies))
        found: Outcome = row.solve_function()(self.problem, asked)
        return found

    def _asked(self, row: SolverSpec) -> SolveRequest[Any, Any]:
        """Return the request for the solver *row*, with its settings and its policy."""
        settings = row.default_settings()
        return replace(
            self.request, settings=settings, policy=row.make_policy(settings)
        )

    def _keep(self, row: SolverSpec, outcome: Outcome) -> None:
        """Store the objective of a finished trial, and its plan if it is the best."""
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
        """Return the best plan, with records if there is time to make them."""
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
        """Run the best policy again with records, if its trial left them out."""
        deadline = self.request.deadline
        enough = deadline.remaining() > RECORDED_RUN_FACTOR * self.last_seconds
        if self.best_row is None or not (self.best.trial and enough):
            return self.best
        row = self.best_row
        whole: Outcome = row.solve_function()(
            self.problem, replace(self._asked(row), trials=0)
        )
        return whole if whole.stop is StopReason.FINISHED else self.best
