"""Check the statements of a result against what its plan and schedule give.

Nothing in a result is believed: names, objective, bound, gap, status, link model and
every metric are compared with the checker's values, and bounds with the best known
plans.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ioopt.families import EXACT, Kind, Metric, Sense, SolverSpec
from ioopt.formats.solution import PROGRAMS
from ioopt.options import shown
from ioopt.problems.base import Problem, Rows
from ioopt.protocols import CheckReport, Known
from ioopt.registry import solvers_for
from ioopt.result import Status, StopReason, Violation, relative_gap, violation
from ioopt.run_statements import is_robust
from ioopt.units import is_number
from ioopt.verdict import (
    RELATIVE,
    Verdict,
    checked_value,
    contradiction,
    false_metrics,
    is_recomputed,
    is_reference,
    past_bound,
    proves,
    same,
    verdict_of,
)


@dataclass(frozen=True)
class Statements:
    """The statements of a result (*data*), with the checker's report on its plan and
    the best known plans.
    """

    kind: Kind
    data: Mapping[str, Any]
    report: CheckReport
    known: Mapping[str, Known] = field(default_factory=dict)

    @cached_property
    def metric(self) -> Metric:
        """Return the metric of the stated objective."""
        name = self.data.get("objective_name") or self.kind.objective.name
        return self.kind.metric(name)

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """Return the stated metrics."""
        return self.data.get("metrics") or {}

    @cached_property
    def value(self) -> float | None:
        """Return the value of the objective that the checker recomputed; None if there
        is none.
        """
        return checked_value(self.metric.name, self.report)

    @cached_property
    def verdict(self) -> Verdict:
        """Return the verdict on the recomputed objective and the stated bound."""
        return verdict_of(
            self.metric, self.value, self.data.get("bound"), self.report.rounding
        )

    def false(self, problem: Problem) -> Iterator[Violation]:
        """Yield a violation for every statement that contradicts the checker's report
        or the best known plan.
        """
        yield from _names(self.kind, problem, self.data)
        yield from _solver(self.kind, self.data)
        yield from _ended(self.kind, self.data)
        yield from _objective(self)
        yield from _bounds(self)
        yield from _status(self)
        yield from _gap(self)
        yield from _trace(self)
        yield from false_metrics(self.metrics, self.report)

    def unjudged(self) -> list[str]:
        """Return the names of everything stated that the checker did not recompute:
        metrics, the objective, and parts of the schedule.
        """
        report = self.report
        known = {*report.metrics, *report.objectives, *report.ranges}
        stated = [name for name, value in self.metrics.items() if value is not None]
        if self.data.get("objective") is not None:
            stated.append(self.metric.name)
        unknown = [name for name in stated if name not in known]
        return sorted({*report.unjudged, *unknown})

    def bound_is_recomputed(self) -> bool:
        """Return whether the checker or the best known plan proves the stated bound;
        true when no bound is stated.
        """
        bound = self.data.get("bound")
        if bound is None:
            return True
        return is_recomputed(self.metric, bound, self.report, self.known)


def _names(
    kind: Kind, problem: Problem, data: Mapping[str, object]
) -> Iterator[Violation]:
    """Check that instance, family and kind are those of the problem."""
    names = {"instance": problem.name, "family": kind.family, "kind": kind.kind}
    for key, true in names.items():
        stated = data.get(key)
        if stated is not None and stated != true:
            text = f"the result is of another {key}; this one is {true!r}"
            yield violation(key, str(stated), text)


def _solver(kind: Kind, data: Mapping[str, object]) -> Iterator[Violation]:
    """Check that the solver belongs to the kind or to the user, and that the policy of
    the plan is the solver's own.
    """
    name = data.get("solver")
    plan = data.get("plan")
    if not isinstance(plan, Mapping):
        plan = {}
    policy = plan.get("policy")
    reference = is_reference(kind.kind, policy)
    if reference:
        text = f"{policy} breaks a rule of the machine: a reference"
        if data.get("status") == Status.OPTIMAL:
            yield violation("status", "optimal", text)
        if data.get("bound") is not None:
            yield violation("bound", repr(data["bound"]), text)
    if name is None or ":" in str(name):
        return
    rows = {row.name: row for row in solvers_for(kind.kind)}
    if name in PROGRAMS:
        return
    if name not in rows:
        yield violation("solver", name, f"no solver of {kind.kind} has that name")
        return
    if policy is None or _plans_by(rows[name], plan):
        return
    # A solver out of time may answer with the fallback's plan.
    late = data.get("stop") in (StopReason.FALLBACK, StopReason.TIME)
    excused = late or _may_answer_with_another(rows[name])
    if reference or not excused:
        yield violation("solver", name, f"its plan is of another policy, {policy}")


def _plans_by(row: SolverSpec, plan: Mapping[str, object]) -> bool:
    """Return whether the policy of *plan* is the one that the solver's name implies."""
    own = {"policy": row.name, "top": False} | dict(row.fixed)
    return plan["policy"] == own["policy"] and (plan.get("top") or False) == own["top"]


def _may_answer_with_another(row: SolverSpec) -> bool:
    """Return whether a solver may return a plan of another solver when that plan is
    better, as ``auto`` and the exact solvers do.
    """
    return row.policy is None or EXACT in row.abilities


def _ended(kind: Kind, data: Mapping[str, Any]) -> Iterator[Violation]:
    """Check that the result states no violations and no failure, and that its measure
    belongs to the kind.
    """
    if data.get("violations"):
        count = len(data["violations"])
        yield violation("violations", count, "are stated by the result itself")
    if data.get("status") == Status.ERROR:
        yield violation("status", "error", "the solver failed or its plan is wrong")
    if data.get("status") == Status.NOT_APPLICABLE:
        yield violation("status", "does not apply", "but there is a plan")
    measure = data.get("measure")
    measures = [metric.name for metric in kind.metrics]
    if measure is not None and measure not in measures:
        yield violation("measure", measure, f"is no measure of {kind.kind}")


def false_settings(
    told: Mapping[str, object],
    expected: Mapping[str, object],
    stated: Mapping[str, Any] | None,
) -> Iterator[Violation]:
    """Yield a violation for every setting that a result adds to its instance although
    the user did not ask for it.

    *told* are the settings found in plan and schedule, *expected* are those asked for,
    and *stated* are those that the result lists.
    """
    for key in sorted({*told, *expected}):
        if told.get(key) == expected.get(key):
            continue
        item = f"{key}={told.get(key, 'as in the instance')}"
        if key in expected:
            text = f"{expected[key]!r} was asked for"
        else:
            text = (
                "differs from the instance; "
                f"add --set {key}={told[key]} to check with this setting"
            )
        yield violation("settings", item, text)
    for key, value in (stated or {}).items():
        if not same(value, told.get(key)):
            text = f"states {shown(value)}, unlike plan and schedule"
            yield violation("settings", key, text)


def false_schedule(
    stated: Any, true: Any, rounding: float, where: str = "schedule"
) -> list[Violation]:
    """Return a violation for the first part of a *stated* schedule that differs from
    *true*, the replay of its plan; an empty list if all parts are equal.

    Parts that have an ``id`` are matched by the ``id``. Fields that are not stated are
    not compared, but no item of a list may be missing.
    """
    if isinstance(true, Rows):
        if _are_equal(stated, true):
            return []
        true = true.rows()
        if isinstance(stated, Rows):
            stated = stated.rows()
    # Most parts are equal to the bit, which plain comparison finds much faster.
    if stated is None or stated == true:
        return []
    if _are_lists(stated, true) and len(stated) != len(true):
        text = f"has {len(stated)} parts; the plan's replay gives {len(true)}"
        return [violation("replay", where, text)]
    parts = _parts(stated, true)
    if parts is None:
        if same(stated, true, rounding):
            return []
        text = f"says {shown(stated)}, the plan's replay gives {shown(true)}"
        return [violation("replay", where, text)]
    for place, one, other in parts:
        found = false_schedule(one, other, rounding, where + place)
        if found:
            return found
    return []


def _are_equal(stated: object, true: Rows) -> bool:
    """Return whether *stated*, a list or columns, has exactly the rows of *true*."""
    if isinstance(stated, Rows):
        return stated.equals(true)
    if not isinstance(stated, list):
        return False
    count = 0
    for piece in true.pieces():
        if stated[count : count + len(piece)] != piece:
            return False
        count += len(piece)
    return count == len(stated)


def _are_lists(stated: object, true: object) -> bool:
    """Return whether both values are lists, whose items can be compared."""
    return isinstance(stated, list) and isinstance(true, (list, tuple))


def _parts(stated: Any, true: Any) -> Iterable[tuple[str, Any, Any]] | None:
    """Pair the parts of two dictionaries or lists, each with its place in the schedule;
    return None for values without parts.
    """
    if isinstance(stated, Mapping) and isinstance(true, Mapping):
        # Other keys are data that the writer of the file added.
        known = (key for key in stated if key in true)
        return ((f".{key}", stated[key], true[key]) for key in known)
    if _are_lists(stated, true):
        pairs = enumerate(_matched(stated, true))
        return ((f"[{k}]", one, other) for k, (one, other) in pairs)
    return None


def _matched(stated: Sequence[Any], true: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Pair the items of two lists by ``id`` when all items have one, else by
    position.
    """
    for part in (*stated, *true):
        if not isinstance(part, Mapping) or "id" not in part:
            return zip(stated, true, strict=True)
    known = {str(part["id"]): part for part in true}
    return [(part, known.get(str(part["id"]))) for part in stated]


def _objective(told: Statements) -> Iterator[Violation]:
    """Check that the objective is the one that the checker computes."""
    stated = told.data.get("objective")
    name = told.metric.name
    if told.value is not None:
        if stated is not None and not same(stated, told.value, told.report.rounding):
            text = f"the result says {stated!r}, the plan gives {told.value!r}"
            yield violation("objective", name, text, abs(stated - told.value))
        return
    if name in told.kind.columns and told.metrics.get(name) == stated:
        # The result states the objective among its metrics too, so it is checked with
        # the metrics, as far as possible.
        return
    named = told.data.get("objective_name") not in (None, told.kind.objective.name)
    if not told.report.violations and (stated is not None or named):
        known = sorted({*told.report.objectives, told.kind.objective.name})
        text = f"is no measure of this plan; it has {', '.join(known)}"
        yield violation("objective", name, text)


def _bound_metrics(told: Statements) -> Iterator[tuple[str, Metric]]:
    """Yield (name, metric) for each metric *name* that bounds *metric* and is not
    recomputed.
    """
    recomputed = {*told.report.metrics, *told.report.ranges}
    for metric in dict.fromkeys([told.metric, *told.kind.metrics]):
        for name in (metric.proof, metric.bounded_by, metric.raised_by):
            if name is not None and name not in recomputed:
                yield name, metric


def _bound_statements(told: Statements) -> Iterator[tuple[str, Metric, float]]:
    """Yield (name, metric that it bounds, value) for every stated bound that is a
    number.
    """
    if is_number(told.data.get("bound")):
        yield "bound", told.metric, told.data["bound"]
    for name, metric in _bound_metrics(told):
        if is_number(told.metrics.get(name)):
            yield name, metric, told.metrics[name]


def _bounds(told: Statements) -> Iterator[Violation]:
    """Check that bounds are numbers, that none contradicts the plan or the best known
    plan, and that none is weaker than the bound that follows from the instance alone.
    """
    for name in dict.fromkeys(name for name, _ in _bound_metrics(told)):
        value = told.metrics.get(name)
        if value is not None and not is_number(value):
            text = f"bounds a measure, and {shown(value)} is not a number"
            yield violation("metric", name, text)
    for name, metric, bound in _bound_statements(told):
        found = contradiction(metric, bound, told.report, told.known)
        if found is None:
            continue
        if name == "bound":
            yield violation("bound", repr(bound), found.message, found.amount)
        else:
            yield violation("metric", name, found.message, found.amount)


def _status(told: Statements) -> Iterator[Violation]:
    """Check that the status follows from the recomputed objective and the stated
    bound.
    """
    status = told.data.get("status")
    objective = told.data.get("objective")
    bound = told.data.get("bound")
    proven = told.verdict.status is Status.OPTIMAL
    broken = bool(told.report.violations)
    if status == Status.OPTIMAL:
        if told.value is None and broken:
            return
        if not proven:
            text = (
                f"objective {told.value!r} is called optimal, but the bound is "
                f"{bound!r}"
            )
            apart = relative_gap(told.value, bound, told.metric.sense)
            yield violation("status", "optimal", text, apart)
        elif objective is None:
            yield violation("status", "optimal", "states no objective")
    elif status in (Status.INFEASIBLE, Status.UNKNOWN) and not broken:
        yield violation("status", str(status), "but the plan breaks no rule")
    elif status == Status.FEASIBLE and proven:
        # The stated objective may lie within the checker's tolerance of the true one.
        stated_proven = proves(told.metric.sense, objective, bound)
        if stated_proven:
            text = f"the bound {bound!r} meets the objective: the plan is optimal"
            yield violation("status", "feasible", text)


def _gap(told: Statements) -> Iterator[Violation]:
    """Check that the stated gap is that of the recomputed objective to the stated
    bound, or 0 when this bound proves the objective optimal.
    """
    gap = told.data.get("gap")
    bound = told.data.get("bound")
    if gap is None or (told.value is None and told.report.violations):
        return
    stated = told.data.get("objective")
    if told.value is None and stated is not None and bound is not None:
        return  # reported as not recomputed
    if gap == 0 and told.verdict.status is Status.OPTIMAL:
        return
    apart = relative_gap(told.value, bound, told.metric.sense)
    if apart is None or not math.isclose(gap, apart, rel_tol=RELATIVE, abs_tol=1e-9):
        text = f"the objective and the bound give {apart!r}"
        yield violation("gap", repr(gap), text)


def _trace(told: Statements) -> Iterator[Violation]:
    """Check that no plan of the trace is better than the answer; of a robust search,
    only that the last plan is not.
    """
    rows = told.data.get("trace") or ()
    if is_robust(told.data):
        rows = rows[-1:]
    worse: Sense = "min" if told.metric.sense == "max" else "max"
    for seconds, value in rows:
        if past_bound(worse, told.value, value, told.report.rounding) is not None:
            text = f"{value!r} is better than the answer, {told.value!r}"
            yield violation("trace", f"{seconds:g} s", text)
            return
