"""Check the statements of a result about its run: options, seed, seconds, the reason
for ending, and the trace.

None of these statements can be recomputed. They are compared with each other and with
the registry row of the solver that the result names.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from ioopt import registry
from ioopt.errors import IooptError
from ioopt.families import EXACT, Kind, SolverSpec
from ioopt.options import SolveOptions, refuse_left_backend
from ioopt.problems.base import Json
from ioopt.registry import solvers_for
from ioopt.result import BEST_AMONG, StopReason, Violation, best_among, violation
from ioopt.units import is_number

OF_THE_RUN = (
    "build_seconds",
    "solve_seconds",
    "simulate_seconds",
    "seed",
    "options",
    "versions",
    "notes",
    "stop",
    "trace",
)
"""The statements about the run, as opposed to its answer."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "time_limit_seconds": (int, float),
    "gap": (int, float),
    "threads": (int,),
    "seed": (int,),
    "backend": (str,),
    "log": (str,),
}


def leaves_out_copies(kind: Kind, data: Mapping[str, object]) -> bool:
    """Return whether the solver of the result *data* forbids copies between nodes, and
    the plan has none.
    """
    plan = data.get("plan")
    if not isinstance(plan, Mapping) or plan.get("copies"):
        return False
    return forbids_copies(_row(kind, data.get("solver")), data)


def forbids_copies(spec: SolverSpec | None, data: Mapping[str, Any]) -> bool:
    """Return whether the solver *spec* of the result *data* forbids copies between
    nodes, by its name or by a setting.

    The bound of such a solver holds only for plans without copies.
    """
    settings = (data.get("options") or {}).get("settings") or {}
    if not isinstance(settings, Mapping):
        settings = {}  # false_run reports it
    if spec is not None:
        settings = {**settings, **spec.fixed}
    return settings.get("replication") is False


def stated_of_run(data: Mapping[str, object]) -> list[str]:
    """Return the names of the statements in the result *data* about its run; ``solver``
    is among them when the plan does not name a policy.
    """
    if data.get("stop") is None:
        return []  # a plan, or a replay of one
    plan = data.get("plan")
    by_policy = isinstance(plan, Mapping) and plan.get("policy") is not None
    names = OF_THE_RUN if by_policy else ("solver", *OF_THE_RUN)
    return [name for name in names if data.get(name) not in (None, "", [], (), {})]


def false_run(kind: Kind, data: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield a violation for every statement about the run that contradicts another
    one.
    """
    row = _row(kind, data.get("solver"))
    yield from _options(data.get("options") or {}, data.get("seed"))
    if row is not None:
        yield from _of_solver(row, data)
    yield from _stop(data)
    yield from _trace(kind, data)


def _row(kind: Kind, name: object) -> SolverSpec | None:
    """Return the registry row of the solver called *name*; None when there is none."""
    for row in solvers_for(kind.kind):
        if row.name == name:
            return row
    return None


def _options(options: Json, seed: object) -> Iterator[Violation]:
    """Check that the options are known ones with valid values, and agree with the seed
    of the result.
    """
    known = {field.name for field in fields(SolveOptions)}
    for key in options.keys() - known - {"settings"}:
        yield violation("options", key, "is not an option of any solver")
    given = {key: options[key] for key in known & options.keys()}
    for key, value in given.items():
        if value is None and key not in ("threads", "seed"):
            continue
        wrong = isinstance(value, bool) or not isinstance(value, _TYPES[key])
        if wrong or (isinstance(value, float) and not math.isfinite(value)):
            yield violation("options", key, f"has the invalid value {value!r}")
            return
    try:
        SolveOptions(**given)
    except IooptError as error:
        yield violation("options", "values", str(error))
    if seed is not None and given.get("seed", seed) != seed:
        yield violation("seed", str(seed), f"the options say {given['seed']!r}")


def _of_solver(row: SolverSpec, data: Mapping[str, Any]) -> Iterator[Violation]:
    """Check that the named solver has the stated backend and settings, and that the
    plan agrees with these settings.
    """
    options = data.get("options") or {}
    backend = options.get("backend")
    settings = options.get("settings")
    refuse_left_backend(backend)
    if backend is not None and backend not in row.backends:
        yield violation(
            "options", f"backend={backend}", f"{row.name} has no such backend"
        )
    if not options or (row.settings_are_new and "settings" not in options):
        return
    if (settings is None) != (row.settings is None):
        has = "has no settings" if row.settings is None else "states all its settings"
        yield violation("options", "settings", f"{row.name} {has}, unlike this result")
        return
    if settings is None:
        return
    try:
        registry.settings_for(row, settings)
    except (IooptError, TypeError, AttributeError) as error:
        yield violation("options", "settings", str(error))
        return
    yield from _by_settings(row, settings, data)


def _by_settings(
    row: SolverSpec, settings: Json, data: Mapping[str, object]
) -> Iterator[Violation]:
    """Check that the settings stored in the plan equal the stated ones; a plan by
    another solver is not compared.
    """
    plan = data.get("plan")
    policy = settings.get("policy", row.name)
    if not isinstance(plan, Mapping) or plan.get("policy") != policy:
        return
    # Among the settings in their plan, exact solvers also store facts that they found.
    own = {} if EXACT in row.abilities else plan.get("settings") or {}
    told = {**own, **plan}
    for key in sorted(settings.keys() & told.keys()):
        if settings[key] != told[key]:
            text = f"is {settings[key]!r} in the options but {told[key]!r} in the plan"
            yield violation("options", f"settings.{key}", text)


def _stop(data: Mapping[str, Any]) -> Iterator[Violation]:
    """Check that the stated reason for ending agrees with the time limit and the
    notes.
    """
    stop = data.get("stop")
    notes = data.get("notes") or ()
    options = data.get("options") or {}
    if stop == StopReason.FALLBACK and not notes:
        yield violation("stop", "fallback", "no note says which solver failed")
    if stop == StopReason.INTERRUPTED and not any(
        "interrupted" in note for note in notes
    ):
        yield violation("stop", "interrupted", "no note says so")
    if stop == StopReason.SEARCHED and not _searched(data):
        text = "no metric bounds the plans that were searched by the value of this one"
        yield violation("stop", "searched", text)
    unlimited = options.get("time_limit_seconds", 0.0) is None
    if stop == StopReason.TIME and unlimited:
        yield violation("stop", "time", "the options set no time limit")


def _searched(data: Mapping[str, Any]) -> bool:
    """Return whether the metrics prove the plan best among some plans."""
    metrics = data.get("metrics") or {}
    values = {**metrics, data.get("objective_name"): data.get("objective")}
    for name, _ in BEST_AMONG.values():
        value = values.get(name)
        if is_number(value) and best_among(metrics, name, value) is not None:
            return True
    return False


def is_robust(data: Mapping[str, Any]) -> bool:
    """Return whether the options of a result say that its search was robust: it
    selected plans by noisy replays, not by the objective.
    """
    settings = (data.get("options") or {}).get("settings") or {}
    return settings.get("robust") is True


def _trace(kind: Kind, data: Mapping[str, Any]) -> Iterator[Violation]:
    """Check that each plan of the trace is later and better than the one before, and
    that all lie within the run.

    A plan of a robust search may be worse, since it holds better under noise.
    """
    trace = data.get("trace") or ()
    sense = kind.metric(data.get("objective_name") or kind.objective.name).sense
    sign = -1.0 if sense == "max" else 1.0
    before: tuple[float, float] | None = None
    for seconds, value in trace:
        if before is not None and seconds < before[0]:
            yield violation(
                "trace", f"{seconds:g} s", "comes before the plan that it follows"
            )
            return
        worse = before is not None and sign * value > sign * before[1]
        if before is not None and worse and not is_robust(data):
            text = f"{value!r} is no better than {before[1]!r} before it"
            yield violation("trace", f"{seconds:g} s", text)
            return
        before = seconds, value
    if before is not None and is_number(data.get("solve_seconds")):
        whole = data["solve_seconds"] + (data.get("build_seconds") or 0.0)
        if before[0] > whole * (1 + 1e-9) + 1e-6:
            text = f"a plan was found then, but the run took {whole:.6g} s"
            yield violation("trace", f"{before[0]:g} s", text)
