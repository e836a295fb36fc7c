"""Define the class of results: the answer, its proven quality, and why the run
ended.
"""

import html
import math
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pkgutil import resolve_name
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import from_json, to_json

from ioopt.problems.base import Json, Rows, plain
from ioopt.tables import percent, render, terminal_width
from ioopt.units import column, is_number, quantity, show, title

if TYPE_CHECKING:
    from networkx import DiGraph

FormT = TypeVar("FormT", bound=BaseModel)
Figure = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Span = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
SHOWN_LEAVES = 16
"""The largest number of items for which a metric is printed; a metric with more items
is only in the JSON form.
"""
TINY = 1e-9
"""A gap is never computed relative to a number smaller than this."""
OPTIMAL_RELATIVE_GAP = 1e-9
"""A bound proves a value optimal if the two differ by at most this share of the larger
one.
"""


class Status(StrEnum):
    """The status of an answer: what is known about it. Each member equals its text.

    >>> Status.OPTIMAL == "optimal"
    True
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"
    ERROR = "error"
    NOT_APPLICABLE = "does not apply"
    """Used only in rows of comparisons and sweeps: the solver cannot take the
    instance.
    """


class StopReason(StrEnum):
    """The reason why a solver ended. Each member equals its text.

    >>> StopReason.TIME == "time"
    True
    """

    FINISHED = "finished"
    SEARCHED = "searched"
    """No plan of queues of tasks is better, but the bound, which also holds for other
    plans, such as those with copy entries, does not prove the plan optimal.
    """
    GAP = "gap"
    TIME = "time"
    ITERATIONS = "iterations"
    INTERRUPTED = "interrupted"
    FALLBACK = "fallback"


BEST_AMONG: Mapping[str, tuple[str, str]] = {
    "one_round_bound_seconds": ("additive_seconds", "plans of one round"),
    "queues_bound_seconds": ("makespan_seconds", "queues of tasks"),
}
"""For each metric that bounds only some plans: the metric that it bounds, and those
plans.
"""


class Violation(BaseModel):
    """One broken rule: its name, the item that breaks it, and a sentence that says by
    how much.

    >>> print(Violation(rule="disk", item="n0", message="holds 2 MB of 1 MB"))
    disk: n0: holds 2 MB of 1 MB
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    item: str
    message: str
    amount: float | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.item}: {self.message}"


def violation(
    rule: str, item: object, message: str, amount: float | None = None
) -> Violation:
    """Return the violation of *rule* by *item*, described by the sentence *message*."""
    return Violation(rule=rule, item=str(item), message=message, amount=amount)


def relative_gap(
    objective: float | None, bound: float | None, sense: Literal["min", "max"] = "min"
) -> float | None:
    """Return ``|objective - bound|`` divided by the objective or, when maximising, by
    the bound; None if either is unknown.

    When maximising, a plan of value 0 thus has a gap of 100 %. When objective and bound
    have different signs, no percentage is meaningful, and the gap is None.

    >>> relative_gap(10.0, 9.0), relative_gap(1.0, 1000.0, "max")
    (0.1, 0.999)
    >>> print(relative_gap(-1.2, 1.0, "max"))
    None
    """
    if objective is None or bound is None or not math.isfinite(bound):
        return None
    if objective == bound:
        return 0.0
    whole = bound if sense == "max" else objective
    if whole == 0 or objective * bound < 0:
        return None
    return abs(objective - bound) / max(abs(whole), TINY)


class Result(BaseModel):
    """A solved instance, checked and simulated. Unknown values are None.

    ``objective`` is recomputed by the family's checker, never taken from the solver.
    ``bound`` is a proven limit of the metric called ``objective_name``: a lower bound
    when minimising. It is a finite number. ``gap`` is computed by :func:`relative_gap`.
    ``measure`` is the metric by which results of the kind are compared, and ``value``
    is the value of that metric for this answer. When the user asked for a measure, the
    objective is that metric too. ``settings`` are those that the plan or the schedule
    adds to the instance, such as ``loop``. ``plan`` and ``schedule`` have the form of
    the family.

    >>> import ioopt
    >>> ioopt.solve("cycle3", "minmin").plan["eviction"]
    'popularity'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    format: Literal["ioopt/result"] = "ioopt/result"
    version: Literal[1] = 1
    instance: str
    family: str
    kind: str | None = None
    solver: str
    status: Status
    stop: StopReason
    objective: Figure | None = None
    objective_name: str | None = None
    bound: Figure | None = None
    gap: Figure | None = None
    measure: str | None = None
    build_seconds: Span | None = None
    solve_seconds: Span | None = None
    simulate_seconds: Span | None = None
    seed: Annotated[int, Field(strict=True, ge=0)] | None = None
    options: Json = Field(default_factory=dict)
    settings: Json = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    metrics: Json = Field(default_factory=dict)
    trace: tuple[tuple[Span, Figure], ...] = ()
    plan: Json | None = None
    schedule: Json | None = None
    meta: Json | None = None
    """Data that the writer of the file stores beside the answer; ioopt does not read
    it.
    """

    @property
    def value(self) -> float | None:
        """Return the value of ``measure``; None without a valid plan."""
        return measured(
            self.__dict__, self.measure or self.objective_name or "objective"
        )

    def plan_as(self, form: type[FormT]) -> FormT:
        """Return the plan as an object of its class, such as ``ReplicationPlan``."""
        return form.model_validate(self.plan)

    def schedule_as(self, form: type[FormT]) -> FormT:
        """Return the schedule as an object of its class (``ReplicationSchedule``)."""
        return form.model_validate(self.schedule)

    def to_dict(self, without: set[str] | None = None) -> Json:
        """Return the result as plain JSON values; unknown values, infinities and NaN
        become None.

        *without* names parts to leave out.
        """
        # Convert through JSON text, which is faster than object by object and has no
        # infinities.
        data: Json = from_json(self.to_json(without, indent=None))
        return data

    def to_json(self, without: set[str] | None = None, indent: int | None = 1) -> str:
        """Return the text of :meth:`to_dict`, as result files hold it: one value a
        line, or all in one line if *indent* is None.
        """
        return "".join(self.json_pieces(without, indent))

    def json_pieces(
        self, without: set[str] | None = None, indent: int | None = 1
    ) -> Iterator[str]:
        """Yield the text of :meth:`to_json` in pieces, so that a long schedule that is
        held as columns needs little memory.
        """
        left_out = set(without or ())
        if not self.meta:
            left_out.add("meta")
        schedule = {} if "schedule" in left_out else self.schedule or {}
        rows = schedule.get("jobs")
        if not isinstance(rows, Rows):
            yield self.model_dump_json(exclude=left_out, indent=indent) + "\n"
            return
        # Jobs come first in the schedule, so that the first empty list after all that
        # stands before the schedule is theirs.
        empty = self.model_copy(update={"schedule": schedule | {"jobs": []}})
        others = {*left_out, "schedule", "meta"}
        before = empty.model_dump_json(exclude=others, indent=indent)
        text = empty.model_dump_json(exclude=left_out, indent=indent) + "\n"
        opened = text.index("[]", len(before) - len("}")) + len("[")
        yield text[:opened]
        yield from _listed(rows, indent)
        yield text[opened:]

    def unpacked(self) -> "Result":
        """Return the result with dictionaries where the schedule has columns."""
        if self.schedule is None:
            return self
        return self.model_copy(update={"schedule": plain(self.schedule)})

    def summary(self) -> Json:
        """Return one row of a comparison: :meth:`to_dict` without plan and schedule."""
        return self.to_dict({"plan", "schedule"})

    def plot(self, picture: str = "default", ax: Any = None) -> Any:
        """Draw the result with matplotlib, into *ax* if given, and return the axes.

        *picture* is one of those that ``ioopt plot --picture`` takes.
        """
        # Import by name, because the plotting modules import this module.
        return resolve_name("ioopt.pictures:draw_result")(self, picture, ax)

    def gantt(self, ax: Any = None) -> Any:
        """Draw the Gantt chart, and return the axes."""
        beside = resolve_name("ioopt.pictures:gantt_of")(self)
        return self.plot(beside, ax)

    def save(self, path: str) -> None:
        """Write the result (``.json``, ``.json.gz``), a picture of it (``.png``,
        ``.svg``, ``.pdf``), or a page to zoom in (``.html``); the extension of *path*
        decides.
        """
        resolve_name("ioopt.pictures:save_result")(self, path)

    def to_frame(self) -> Any:
        """Return the schedule as a pandas DataFrame, one row for each task or job.

        If the schedule has neither tasks nor jobs, its first list gives the rows.
        Without a schedule the frame is empty.
        """
        import pandas as pd

        schedule = self.schedule or {}
        for part in (schedule.get("tasks"), schedule.get("jobs"), *schedule.values()):
            if part and isinstance(part, list):
                return pd.DataFrame(part)
        return pd.DataFrame([])

    def graph(self) -> "DiGraph":
        """Return the schedule of tasks and transfers as a networkx graph.

        Its nodes are ``("task", id)``, ``("transfer", number)`` and ``("eviction",
        number)``, numbered in order of time, with the attributes ``node``,
        ``start_seconds``, ``end_seconds`` and ``critical``; transfers and evictions
        also have their ``file`` and ``kind``, transfers their ``source`` (None: remote
        storage). An edge leads to what began when the first ended, as far as it can
        have waited for it; edges of the critical path have ``critical=True``. Raises
        UsageError if the result has no schedule of tasks.

        >>> import ioopt
        >>> graph = ioopt.solve("cycle3", "minmin").graph()
        >>> next(name for name, on_it in graph.nodes(data="critical") if on_it)
        ('transfer', 0)
        """
        return resolve_name("ioopt.graphs:graph_of_schedule")(self.schedule)

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of the printed result as pairs (name, value with its unit).

        Tables of many values and bounds of little use are only in the JSON form.
        """
        rows: list[tuple[str, Any]] = [
            ("instance", self.instance),
            ("solver", self.solver),
            ("status", self._status()),
            *self._answer(),
            *self._other_metrics(),
        ]
        for name in ("build_seconds", "solve_seconds", "simulate_seconds"):
            seconds = getattr(self, name)
            if seconds is not None:
                rows.append((title(name), quantity(name, seconds)))
        return [(name, show(value)) for name, value in rows]

    @property
    def _own(self) -> str:
        """Return the name of the solver's own objective."""
        return self.objective_name or "objective"

    def _heading(self, name: str) -> str:
        """Return the heading of the metric *name*."""
        heading: str = resolve_name("ioopt.verdict:heading")(self.kind, name)
        return heading

    def _status(self) -> str:
        """Return the status for people, with the reason why the solver ended, or with
        the name of the objective that is proven optimal.
        """
        by_other = self.measure not in (None, self._own)
        if self.status is Status.ERROR and self.stop is StopReason.FINISHED:
            return str(self.status)
        some = best_among(self.metrics, self._own, self.objective)
        if self.status is Status.FEASIBLE and some is not None:
            return f"{self.status} ({self.stop}; {some})"
        if self.status is not Status.OPTIMAL or not by_other:
            return f"{self.status} ({self.stop})"
        about = [f"{self._heading(self._own)} objective"]
        defined_in = resolve_name("ioopt.verdict:defined_in")(self.kind, self._own)
        if defined_in:
            about.append(defined_in)
        if self.stop is not StopReason.FINISHED:
            about.append(str(self.stop))
        return f"{self.status} ({', '.join(about)})"

    def _answer(self) -> list[tuple[str, Any]]:
        """Return the rows of the measure, the objective, its bound and its gap; the
        measure has no row of its own if it is the objective.
        """
        own = self._own
        objective, bound = column(own, [self.objective, self.bound])
        if self.measure in (None, own):
            return [
                (self._heading(own), self._with_noise(own, objective)),
                ("bound", bound),
                ("gap", percent(self.gap)),
            ]
        measure = self.measure or own
        return [
            (
                self._heading(measure),
                self._with_noise(measure, quantity(measure, self.value)),
            ),
            (self._heading(own), objective),
            (f"{self._heading(own)} bound", bound),
            (f"{self._heading(own)} gap", percent(self.gap)),
        ]

    def _with_noise(self, name: str, value: str | None) -> str | None:
        """Return the *value* of the metric *name* as text. A makespan that was replayed
        under noise is followed by the time that 95 % of these replays kept.
        """
        p95 = self.metrics.get("noisy_p95_seconds")
        if name != "makespan_seconds" or p95 is None or value is None:
            return value
        return f"{value}; 95 % of noisy runs within {quantity(name, p95)}"

    def _other_metrics(self) -> list[tuple[str, Any]]:
        """Return the rows of the other metrics, one row for each item. The measure, the
        objective, bounds of little use and metrics of many items are left out.
        """
        left_out = {self._own, self.measure, "noise", "noisy_p95_seconds"}
        left_out |= resolve_name("ioopt.verdict:left_out")(self)
        found: list[tuple[str, Any]] = []
        # Bounds come first, beside the values that they bound.
        for name in sorted(self.metrics, key=lambda name: "_bound" not in name):
            value = self.metrics[name]
            leaves = list(_leaves(self._heading(name), name, value))
            if name not in left_out and len(leaves) <= SHOWN_LEAVES:
                found += leaves
        return found

    def table(self) -> str:
        """Return the rows of the printed result as a table."""
        return render(("what", "value"), self.rows(), width=terminal_width(), wrap=1)

    def __str__(self) -> str:
        """Return the table, and below it the notes and violations."""
        said = [f"note: {note}" for note in self.notes]
        said += [f"violation: {violation}" for violation in self.violations]
        lines = [fill(text, terminal_width(), subsequent_indent="  ") for text in said]
        return "\n".join([self.table(), *lines])

    __rich__ = __str__

    def __repr__(self) -> str:
        told = ", ".join(f"{name}: {value}" for name, value in self.rows()[2:5])
        return f"<Result of {self.solver} on {self.instance}: {told}>"

    def _repr_html_(self) -> str:
        """Return a table, and the picture if there is one (for notebooks)."""
        cells = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self.rows()
        )
        return f"<table>{cells}</table>{resolve_name('ioopt.pictures:small_svg')(self)}"


def _listed(rows: Rows, indent: int | None) -> Iterator[str]:
    """Yield the JSON text of *rows* as it stands between the brackets of
    ``schedule.jobs``.
    """
    frame = to_json({"schedule": {"jobs": []}}, indent=indent)
    opened = frame.index(b"[") + len(b"[")
    end = frame[opened:]
    if indent is not None:
        end = b"\n" + 2 * indent * b" " + end
    comma = ""
    for piece in rows.pieces():
        text = to_json(
            {"schedule": {"jobs": piece}}, indent=indent, inf_nan_mode="null"
        )
        yield comma + text[opened : -len(end)].decode()
        comma = ","
    if comma:
        yield end[: -len(frame[opened:])].decode()


def best_among(
    metrics: Mapping[str, Any], name: str, value: float | None
) -> str | None:
    """Say among which plans a plan is proven best, whose metric *name* is *value*;
    return None if *metrics* contain no such proof.

    >>> best_among({"queues_bound_seconds": 9.0}, "makespan_seconds", 9.0)
    'optimal among queues of tasks'
    >>> best_among({"queues_bound_seconds": 9.0}, "makespan_seconds", 8.5)
    'better than all queues of tasks'
    """
    for bound, (bounded, plans) in BEST_AMONG.items():
        found = metrics.get(bound)
        if bounded != name or value is None or not is_number(found):
            continue
        least = float(found or 0.0)
        if value < least * (1 - OPTIMAL_RELATIVE_GAP):
            return f"better than all {plans}"
        if value <= least * (1 + OPTIMAL_RELATIVE_GAP):
            return f"optimal among {plans}"
    return None


def measured(row: Mapping[str, Any], measure: str) -> float | None:
    """Return the value of *measure* in a result's dictionary; None if the result has no
    sound plan.
    """
    if row["status"] not in (Status.OPTIMAL, Status.FEASIBLE) or row.get("violations"):
        return None
    if row["objective_name"] == measure:
        value = row["objective"]
    else:
        value = row["metrics"].get(measure)
    return value if is_number(value) else None


def plan_dict(plan: Any) -> Json | None:
    """Return a plan as plain data. A dictionary is returned unchanged; an object is
    converted by its ``to_dict`` or, without one, by pydantic.
    """
    if plan is None or isinstance(plan, dict):
        return plan
    if hasattr(plan, "to_dict"):
        written: Json = plan.to_dict()
        return written
    dumped: Json = plan.model_dump(mode="json", by_alias=True)
    return dumped


def _leaves(heading: str, name: str, value: object) -> Iterator[tuple[str, Any]]:
    """Yield (heading, value with its unit) for each item of the metric *name*, with
    headings such as ``class LU``; lists are left out.
    """
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(f"{heading} {key}", name, part)
    elif not isinstance(value, (list, tuple)):
        yield heading, quantity(name, value)


class ComparisonRow(Result):
    """A result without plan and schedule, with the value of the comparison's measure.

    ``reference`` is true for a solver that breaks a rule of the machine by design; such
    a row has no ratio. ``base`` names the base instance: instances of one preset and
    seed with other settings have the same. ``generated`` are the settings with which
    the instance was generated, and ``digest`` is the SHA-256 of what it says or, after
    ``recipe:``, of the recipe with which a sweep generated it.
    ``exit_code`` is that of the command if only this solver failed.
    """

    model_config = ConfigDict(extra="ignore")

    ratio_to_best: float | None = None
    reference: bool = False
    base: str | None = None
    generated: dict[str, Any] = Field(default_factory=dict)
    digest: str | None = None
    exit_code: int | None = None


class Comparison(BaseModel):
    """The document that ``ioopt compare --format json`` writes."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal["ioopt/comparison"] = "ioopt/comparison"
    version: Literal[1] = 1
    measure: str | None = None
    baseline: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    rows: tuple[ComparisonRow, ...] = Field(min_length=1)
