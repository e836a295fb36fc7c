"""Ways to forge one statement of a true result, and a test whether ``ioopt check``
detects the forgery.

A way takes a copy of a true result and a random generator. It makes one statement false
and returns True, or returns False if the result has no such statement. ``check`` cannot
recompute some statements, such as the seconds of a run. It must at least name such a
statement on standard error: ``@named("key")``.
"""

import copy
import json
import math
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from damage.running import run_command

Json = dict[str, Any]
Way = Callable[[Json, random.Random], bool]
WAYS: dict[str, Way] = {}
NAMED: dict[str, str] = {}
"""For a way, the statement that ``check`` must name if it does not reject it."""
MAXIMISED = ("granted_bytes_per_second", "value_las", "weighted_progress")


def way(function: Way) -> Way:
    """Register a way by its name."""
    assert function.__name__ not in WAYS
    WAYS[function.__name__] = function
    return function


def named(key: str) -> Callable[[Way], Way]:
    """Register a way whose statement need not be rejected.

    ``check`` may instead name *key* as not recomputed.
    """

    def listed(function: Way) -> Way:
        NAMED[function.__name__] = key
        return way(function)

    return listed


def _put(place: Any, key: Any, value: Any) -> bool:
    """Replace ``place[key]`` by *value*; return False if there is no value, or an equal
    one.
    """
    try:
        before = place[key]
    except (LookupError, TypeError):
        return False
    if before is None or before == value:
        return False
    place[key] = value
    return True


def _scaled(place: Any, key: Any, factor: float) -> bool:
    """Multiply a number that is not 0 by *factor*; return whether that changed it."""
    value = place.get(key) if isinstance(place, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value == 0:
        return False
    place[key] = type(value)(value * factor)
    return bool(place[key] != value)


def _worse(result: Json, amount: float) -> float:
    """Return a value that is worse than the objective by the share *amount* of it."""
    objective = result["objective"]
    step = amount * max(abs(objective), 1e-9)
    return (
        objective - step if result["objective_name"] in MAXIMISED else objective + step
    )


def _has_bound(result: Json) -> bool:
    return result["objective"] is not None and result["bound"] is not None


def _is_best(result: Json) -> bool:
    """Return whether the plan is as good as the best known plan.

    A bound near its objective may then be true.
    """
    from ioopt import load
    from ioopt.known_plans import known_plans

    known = known_plans(load(result["instance"])).get(result["objective_name"])
    return known is not None and math.isclose(
        known.best, result["objective"], rel_tol=1e-3
    )


def _numbers(result: Json, rng: random.Random, kind: type) -> list[str]:
    """Return the names of recomputed metrics of type *kind*, in random order.

    Metrics that are 0 up to rounding are left out.
    """
    metrics = result["metrics"].items()
    found = [name for name, value in metrics if type(value) is kind]
    found = [
        name for name in found if kind is int or abs(result["metrics"][name]) > 1e-9
    ]
    rng.shuffle(found)
    return [name for name in found if name not in OF_THE_SEARCH]


OF_THE_SEARCH = (
    "evaluations",
    "replays",
    "scheduling_milliseconds_per_task",
    "models_cut",
    "queues_bound_seconds",
    "per_pattern",
    "ranking",
    "model_best",
    "one_round_bound_seconds",
    "model_gap",
    "noisy_mean_seconds",
    "noisy_p95_seconds",
)
"""Metrics that only the solver knows, so that ``check`` cannot recompute them."""


def _rows(result: Json, *names: str) -> list[Json]:
    """Return the first list of the schedule with one of *names* that is not empty."""
    schedule = result["schedule"] or {}
    return next((schedule[name] for name in names if schedule.get(name)), [])


def _runs(result: Json) -> list[Json]:
    return _rows(result, "tasks", "jobs", "slots", "rows")


def _end_key(row: Json) -> str:
    return "finish_seconds" if "finish_seconds" in row else "end_seconds"


def _requests(result: Json) -> list[Json]:
    return [record for job in _rows(result, "jobs") for record in job.get("io", ())]


def _placed(result: Json) -> list[Json]:
    return [row for update in _rows(result, "updates") for row in update["placed"]]


# --- the origin of the result


@way
def instance_of_another_name(result: Json, rng: random.Random) -> bool:
    return _put(result, "instance", "another")


@way
def instance_in_capitals(result: Json, rng: random.Random) -> bool:
    return _put(result, "instance", result["instance"].upper())


@way
def instance_with_a_blank(result: Json, rng: random.Random) -> bool:
    return _put(result, "instance", result["instance"] + " ")


@way
def family_of_another(result: Json, rng: random.Random) -> bool:
    return _put(result, "family", "gang" if result["family"] != "gang" else "flexgang")


@way
def kind_of_another(result: Json, rng: random.Random) -> bool:
    return _put(result, "kind", "gang" if result["kind"] != "gang" else "gang-matrix")


@way
def measure_of_another_kind(result: Json, rng: random.Random) -> bool:
    return _put(result, "measure", "big_job_slowdown")


@way
def objective_under_another_name(result: Json, rng: random.Random) -> bool:
    return _put(result, "objective_name", "peak_bytes_of_nothing")


@way
def objective_named_as_a_metric(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, float)
    true = result["objective"]
    names = [name for name in names if result["metrics"][name] != true]
    return bool(names) and _put(result, "objective_name", names[0])


@way
def solver_that_is_not_there(result: Json, rng: random.Random) -> bool:
    return _put(result, "solver", result["solver"] + "-2")


@way
def solver_of_another_family(result: Json, rng: random.Random) -> bool:
    return _put(result, "solver", "gs" if result["family"] != "gang" else "minmin")


@named("solver")
def solver_with_other_settings(result: Json, rng: random.Random) -> bool:
    others = {
        "replication": "hierarchical",
        "batch-io": "auto",
        "io-requests": "cons-max-util",
        "gang": "auto",
        "gang-matrix": "auto",
        "flexible-gang": "strict",
        "quantum-selection": "nobody",
        "work-directory": "search",
    }
    other = others[result["kind"]]
    if result["solver"] == other or (result["solver"] == "auto" and other == "search"):
        return False
    return _put(result, "solver", other)


@way
def reference_under_another_name(result: Json, rng: random.Random) -> bool:
    return result["solver"] == "no-congestion" and _put(result, "solver", "mine:fast")


@way
def reference_as_a_bounded_answer(result: Json, rng: random.Random) -> bool:
    if result["solver"] != "no-congestion" or result["objective"] is None:
        return False
    result |= {"bound": result["objective"], "gap": 0.0, "status": "optimal"}
    return True


# --- objective


@way
def objective_a_little_less(result: Json, rng: random.Random) -> bool:
    return _scaled(result, "objective", 1 - 1e-5)


@way
def objective_a_little_more(result: Json, rng: random.Random) -> bool:
    return _scaled(result, "objective", 1 + 1e-5)


@way
def objective_halved(result: Json, rng: random.Random) -> bool:
    return _scaled(result, "objective", 0.5)


@way
def objective_negated(result: Json, rng: random.Random) -> bool:
    return _scaled(result, "objective", -1.0)


@way
def objective_of_nothing(result: Json, rng: random.Random) -> bool:
    return _put(result, "objective", 0.0)


@way
def objective_as_text(result: Json, rng: random.Random) -> bool:
    return _put(result, "objective", str(result["objective"]))


@way
def objective_as_a_switch(result: Json, rng: random.Random) -> bool:
    return _put(result, "objective", True)


@way
def objective_infinite(result: Json, rng: random.Random) -> bool:
    return _put(result, "objective", math.inf)


@way
def objective_not_a_number(result: Json, rng: random.Random) -> bool:
    return _put(result, "objective", math.nan)


@way
def objective_and_its_metric_halved(result: Json, rng: random.Random) -> bool:
    _scaled(result["metrics"], result["objective_name"], 0.5)
    return _scaled(result, "objective", 0.5)


@way
def objective_metric_and_bound_halved(result: Json, rng: random.Random) -> bool:
    _scaled(result["metrics"], result["objective_name"], 0.5)
    _scaled(result, "bound", 0.5)
    return _scaled(result, "objective", 0.5)


@way
def objective_left_out_of_an_optimal_result(result: Json, rng: random.Random) -> bool:
    return result["status"] == "optimal" and _put(result, "objective", None)


# --- bound


@way
def bound_past_the_objective(result: Json, rng: random.Random) -> bool:
    return _has_bound(result) and _put(result, "bound", _worse(result, 1e-4))


@way
def bound_far_past_the_objective(result: Json, rng: random.Random) -> bool:
    return _has_bound(result) and _put(result, "bound", _worse(result, 10.0))


@way
def bound_minus_infinity(result: Json, rng: random.Random) -> bool:
    result |= {"bound": -math.inf}
    return True


@way
def bound_plus_infinity(result: Json, rng: random.Random) -> bool:
    result |= {"bound": math.inf, "gap": None}
    return True


@way
def bound_not_a_number(result: Json, rng: random.Random) -> bool:
    result |= {"bound": math.nan, "gap": None}
    return True


@way
def bound_that_says_nothing(result: Json, rng: random.Random) -> bool:
    """Set the bound to a finite number that is far from every objective."""
    if result["objective"] is None:
        return False
    far = 1e300 if result["objective_name"] in MAXIMISED else -1e300
    result |= {"bound": far, "gap": None, "status": "feasible"}
    return True


@way
def bound_that_says_nothing_called_optimal(result: Json, rng: random.Random) -> bool:
    if result["objective"] is None:
        return False
    far = 1e300 if result["objective_name"] in MAXIMISED else -1e300
    result |= {"bound": far, "gap": 0.0, "status": "optimal"}
    return True


@way
def bound_of_the_other_sign(result: Json, rng: random.Random) -> bool:
    return _has_bound(result) and _scaled(result, "bound", -1.0)


@way
def bound_as_text(result: Json, rng: random.Random) -> bool:
    return _put(result, "bound", f"{result['bound']}")


@named("bound")
def bound_drawn_up_to_the_objective(result: Json, rng: random.Random) -> bool:
    """Call a plan optimal that is not known to be optimal."""
    if (
        result["status"] != "feasible"
        or result["objective"] is None
        or _is_best(result)
    ):
        return False
    result |= {"bound": result["objective"], "gap": 0.0, "status": "optimal"}
    return True


@named("bound")
def bound_nearly_at_the_objective(result: Json, rng: random.Random) -> bool:
    if result["status"] != "feasible" or not _has_bound(result) or _is_best(result):
        return False
    bound = result["objective"] + 1e-3 * (result["bound"] - result["objective"])
    whole = bound if result["objective_name"] in MAXIMISED else result["objective"]
    if not whole or bound * result["objective"] <= 0 or bound == result["bound"]:
        return False
    result |= {"bound": bound, "gap": abs(result["objective"] - bound) / abs(whole)}
    return True


# --- gap and status


@way
def optimal_without_a_bound(result: Json, rng: random.Random) -> bool:
    if result["objective"] is None:
        return False
    result |= {"bound": None, "gap": None, "status": "optimal"}
    return True


@way
def optimal_with_a_gap(result: Json, rng: random.Random) -> bool:
    return bool(result["gap"]) and _put(result, "status", "optimal")


@way
def optimal_without_a_gap_stated(result: Json, rng: random.Random) -> bool:
    if not result["gap"]:
        return False
    result |= {"gap": None, "status": "optimal"}
    return True


@way
def gap_of_nothing(result: Json, rng: random.Random) -> bool:
    return bool(result["gap"]) and _put(result, "gap", 0.0)


@way
def gap_halved(result: Json, rng: random.Random) -> bool:
    return _scaled(result, "gap", 0.5)


@way
def gap_doubled(result: Json, rng: random.Random) -> bool:
    return _scaled(result, "gap", 2.0)


@way
def gap_in_percent(result: Json, rng: random.Random) -> bool:
    return _scaled(result, "gap", 100.0)


@way
def gap_negative(result: Json, rng: random.Random) -> bool:
    return _scaled(result, "gap", -1.0)


@way
def gap_not_a_number(result: Json, rng: random.Random) -> bool:
    return _put(result, "gap", math.nan)


@way
def gap_of_an_optimal_result(result: Json, rng: random.Random) -> bool:
    return result["status"] == "optimal" and _put(result, "gap", 0.25)


@way
def gap_without_a_bound(result: Json, rng: random.Random) -> bool:
    return bool(result["gap"]) and _put(result, "bound", None)


@way
def gap_out_of_nowhere(result: Json, rng: random.Random) -> bool:
    if result["gap"] is not None:
        return False
    result["gap"] = 0.01
    return True


@way
def sound_plan_called_infeasible(result: Json, rng: random.Random) -> bool:
    return _put(result, "status", "infeasible")


@way
def sound_plan_called_unknown(result: Json, rng: random.Random) -> bool:
    return _put(result, "status", "unknown")


@way
def sound_plan_called_an_error(result: Json, rng: random.Random) -> bool:
    return _put(result, "status", "error")


@way
def sound_plan_that_does_not_apply(result: Json, rng: random.Random) -> bool:
    return _put(result, "status", "does not apply")


@way
def optimal_plan_called_feasible(result: Json, rng: random.Random) -> bool:
    return result["status"] == "optimal" and _put(result, "status", "feasible")


@way
def status_misspelt(result: Json, rng: random.Random) -> bool:
    return _put(result, "status", "optimum")


@way
def violations_of_a_sound_plan(result: Json, rng: random.Random) -> bool:
    return _put(
        result, "violations", [{"rule": "disk", "item": "n0", "message": "full"}]
    )


# --- metrics


@way
def metric_half_as_large_again(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, float)
    return any(_scaled(result["metrics"], name, 1.5) for name in names)


@way
def metric_off_in_the_fifth_digit(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, float)
    return any(_scaled(result["metrics"], name, 1 + 1e-5) for name in names)


@way
def metric_negated(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, float)
    return any(_scaled(result["metrics"], name, -1.0) for name in names)


@way
def count_one_more(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, int)
    return any(
        _put(result["metrics"], name, result["metrics"][name] + 1) for name in names
    )


@way
def count_one_less(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, int)
    return any(
        _put(result["metrics"], name, result["metrics"][name] - 1) for name in names
    )


@way
def count_with_a_fraction(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, int)
    return any(
        _put(result["metrics"], name, result["metrics"][name] + 0.5) for name in names
    )


@way
def metric_as_text(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, float)
    return any(
        _put(result["metrics"], name, str(result["metrics"][name])) for name in names
    )


@way
def metric_as_a_switch(result: Json, rng: random.Random) -> bool:
    names = [
        name
        for name in _numbers(result, rng, int)
        if result["metrics"][name] not in (0, 1)
    ]
    return any(_put(result["metrics"], name, True) for name in names)


@way
def metric_unknown_though_told(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, float)
    return any(_put(result["metrics"], name, None) for name in names)


@way
def metric_told_though_unknown(result: Json, rng: random.Random) -> bool:
    names = [name for name, value in result["metrics"].items() if value is None]
    for name in names:
        result["metrics"][name] = 1.0
    return bool(names)


@way
def metrics_of_two_swapped(result: Json, rng: random.Random) -> bool:
    metrics, names = result["metrics"], _numbers(result, rng, float)
    if len(names) < 2 or math.isclose(
        metrics[names[0]], metrics[names[1]], rel_tol=1e-4
    ):
        return False
    metrics[names[0]], metrics[names[1]] = metrics[names[1]], metrics[names[0]]
    return True


@way
def metric_infinite(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, float)
    return any(_put(result["metrics"], name, math.inf) for name in names)


@way
def metric_not_a_number(result: Json, rng: random.Random) -> bool:
    names = _numbers(result, rng, float)
    return any(_put(result["metrics"], name, math.nan) for name in names)


def _tables(result: Json) -> list[Json]:
    metrics = result["metrics"]
    found = [metrics[name] for name in sorted(metrics) if name not in OF_THE_SEARCH]
    return [table for table in found if isinstance(table, dict) and table]


@way
def entry_of_a_table_changed(result: Json, rng: random.Random) -> bool:
    noise = result["metrics"].get("noise")
    for table in _tables(result):
        # Under another noise a steady plan has the same makespans: a true statement.
        if table is not noise and any(_scaled(table, name, 2.0) for name in table):
            return True
    return False


@way
def entry_of_a_table_left_out(result: Json, rng: random.Random) -> bool:
    for table in _tables(result):
        table.popitem()
        return True
    return False


@way
def entry_of_a_table_invented(result: Json, rng: random.Random) -> bool:
    for table in _tables(result):
        table["nobody"] = 1.0
        return True
    return False


@named("luck_seconds")
def metric_invented(result: Json, rng: random.Random) -> bool:
    result["metrics"]["luck_seconds"] = 7.0
    return True


@way
def bound_metric_past_what_it_bounds(result: Json, rng: random.Random) -> bool:
    metrics = result["metrics"]
    pairs = (
        ("makespan_seconds", "lower_bound_seconds"),
        ("peak_bytes", "peak_bound_bytes"),
        ("io_delay_seconds", "io_delay_bound"),
        ("makespan_seconds", "transfer_bound_seconds"),
        ("additive_seconds", "additive_bound_seconds"),
    )
    found = [
        pair for pair in pairs if all(metrics.get(name) is not None for name in pair)
    ]
    for measure, name in found[:1]:
        metrics[name] = 2 * metrics[measure] + 1
    return bool(found)


@way
def bound_metric_that_says_nothing(result: Json, rng: random.Random) -> bool:
    names = (
        "lower_bound_seconds",
        "peak_bound_bytes",
        "io_delay_bound",
        "link_bound_seconds",
    )
    return any(_put(result["metrics"], name, -1e300) for name in names)


# --- the run


@way
def seed_unlike_the_options(result: Json, rng: random.Random) -> bool:
    return _put(result, "seed", result["seed"] + 1)


@way
def seed_below_zero(result: Json, rng: random.Random) -> bool:
    return _put(result, "seed", -1)


@way
def seed_of_the_options_alone(result: Json, rng: random.Random) -> bool:
    return _put(result["options"], "seed", result["seed"] + 7)


@named("seed")
def seed_and_that_of_the_options(result: Json, rng: random.Random) -> bool:
    result["options"]["seed"] = result["seed"] + 7
    return _put(result, "seed", result["seed"] + 7)


@way
def threads_of_nothing(result: Json, rng: random.Random) -> bool:
    return _put(result["options"], "threads", 0)


@way
def threads_and_a_half(result: Json, rng: random.Random) -> bool:
    return _put(result["options"], "threads", 1.5)


@way
def time_limit_below_zero(result: Json, rng: random.Random) -> bool:
    return _put(result["options"], "time_limit_seconds", -1.0)


@way
def time_limit_as_text(result: Json, rng: random.Random) -> bool:
    return _put(result["options"], "time_limit_seconds", "1 min")


@way
def gap_option_below_zero(result: Json, rng: random.Random) -> bool:
    result["options"]["gap"] = -0.5
    return True


@way
def backend_of_nobody(result: Json, rng: random.Random) -> bool:
    result["options"]["backend"] = "Abacus"
    return True


@way
def option_of_nobody(result: Json, rng: random.Random) -> bool:
    result["options"]["luck"] = 3
    return True


@way
def setting_of_nobody(result: Json, rng: random.Random) -> bool:
    settings = result["options"].get("settings")
    return settings is not None and (settings.setdefault("luck", 3) == 3)


@way
def setting_with_a_wrong_value(result: Json, rng: random.Random) -> bool:
    settings = result["options"].get("settings") or {}
    return any(_put(settings, key, [key]) for key in sorted(settings))


@way
def settings_left_out_of_the_options(result: Json, rng: random.Random) -> bool:
    if (result["family"], result["solver"]) == ("replication", "auto"):
        return False  # as version 0.2 wrote it, when auto had no settings
    return result["options"].pop("settings", None) is not None


@way
def settings_unlike_the_plan(result: Json, rng: random.Random) -> bool:
    settings, plan = result["options"].get("settings") or {}, result["plan"] or {}
    if plan.get("policy") != settings.get("policy", result["solver"]):
        return False
    return any(
        key in settings and key in plan and _put(settings, key, value)
        for key, value in (("ef", 2.0), ("alpha", 1.5), ("loop", "open"))
    )


@named("solve_seconds")
def seconds_of_another_run(result: Json, rng: random.Random) -> bool:
    return _put(result, "solve_seconds", result["solve_seconds"] + 1.0)


@way
def seconds_below_zero(result: Json, rng: random.Random) -> bool:
    return _put(result, "solve_seconds", -1.0)


@way
def seconds_infinite(result: Json, rng: random.Random) -> bool:
    return _put(result, "simulate_seconds", math.inf)


@way
def fallback_without_a_word(result: Json, rng: random.Random) -> bool:
    result["notes"] = []
    return _put(result, "stop", "fallback")


@way
def interrupted_without_a_word(result: Json, rng: random.Random) -> bool:
    return _put(result, "stop", "interrupted")


@way
def searched_without_a_proof(result: Json, rng: random.Random) -> bool:
    result["metrics"].pop("queues_bound_seconds", None)
    result["metrics"].pop("one_round_bound_seconds", None)
    return _put(result, "stop", "searched")


@way
def out_of_time_without_a_limit(result: Json, rng: random.Random) -> bool:
    result["options"]["time_limit_seconds"] = None
    result["stop"] = "time"
    return True


@way
def stop_misspelt(result: Json, rng: random.Random) -> bool:
    return _put(result, "stop", "timeout")


@named("stop")
def stop_for_another_reason(result: Json, rng: random.Random) -> bool:
    return _put(result, "stop", "iterations")


@way
def versions_as_numbers(result: Json, rng: random.Random) -> bool:
    return _put(result["versions"], "ioopt", 0.2)


@named("versions")
def version_of_another_house(result: Json, rng: random.Random) -> bool:
    return _put(result["versions"], "python", "2.7")


@way
def note_that_is_no_text(result: Json, rng: random.Random) -> bool:
    result["notes"] = [3]
    return True


@way
def trace_with_a_better_plan(result: Json, rng: random.Random) -> bool:
    if not result["objective"] or not math.isfinite(result["objective"]):
        return False
    result["trace"] = [[0.0, _worse(result, -0.5)]]
    return True


@way
def trace_back_in_time(result: Json, rng: random.Random) -> bool:
    if len(result["trace"]) < 2:
        return False
    result["trace"][0][0] = result["trace"][-1][0] + 1.0
    return True


@way
def trace_that_grows_worse(result: Json, rng: random.Random) -> bool:
    # A robust search may go on to a plan of a worse objective that holds better.
    options = result.get("options") or {}
    robust = (options.get("settings") or {}).get("robust") is True
    if robust or len(result["trace"]) < 2:
        return False
    values = [row[1] for row in result["trace"]]
    for row, value in zip(result["trace"], reversed(values), strict=True):
        row[1] = value
    return values[0] != values[-1]


@way
def trace_after_the_end(result: Json, rng: random.Random) -> bool:
    if not result["trace"]:
        return False
    result["trace"][-1][0] += 1000.0
    return True


@way
def trace_not_a_number(result: Json, rng: random.Random) -> bool:
    result["trace"] = [[0.0, math.nan]]
    return True


@way
def settings_of_another_question(result: Json, rng: random.Random) -> bool:
    result["settings"] = {"loop": "open"} | result["settings"]
    return result["settings"]["loop"] != "open" or result["plan"].get("loop") != "open"


# --- the form of the document


@way
def format_of_another(result: Json, rng: random.Random) -> bool:
    return _put(result, "format", "ioopt/results")


@way
def version_of_the_future(result: Json, rng: random.Random) -> bool:
    return _put(result, "version", 2)


@way
def key_that_no_one_reads(result: Json, rng: random.Random) -> bool:
    result["luck"] = 1
    return True


@way
def key_misspelt(result: Json, rng: random.Random) -> bool:
    result["bouond"] = result.pop("bound")
    return True


@way
def key_of_the_plan_that_no_one_reads(result: Json, rng: random.Random) -> bool:
    result["plan"]["luck"] = 1
    return True


@way
def key_of_the_schedule_that_no_one_reads(result: Json, rng: random.Random) -> bool:
    if result["schedule"] is None:
        return False
    result["schedule"]["luck"] = 1
    return True


@way
def key_of_a_row_that_no_one_reads(result: Json, rng: random.Random) -> bool:
    for row in _runs(result)[:1]:
        row["luck"] = 1
    return bool(_runs(result))


# --- the schedule


@way
def start_moved_back(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    if not runs:
        return False
    rng.choice(runs)["start_seconds"] -= 0.5
    return True


@way
def start_moved_on(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    if not runs:
        return False
    rng.choice(runs)["start_seconds"] += 1e-3
    return True


@way
def end_moved_back(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    if not runs:
        return False
    row = rng.choice(runs)
    row[_end_key(row)] -= 1e-3
    return True


@way
def end_moved_on(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    if not runs:
        return False
    row = rng.choice(runs)
    row[_end_key(row)] += 0.5
    return True


@way
def all_of_a_schedule_later(result: Json, rng: random.Random) -> bool:
    for row in _runs(result):
        row["start_seconds"] += 2.0
        row[_end_key(row)] += 2.0
    return bool(_runs(result))


@way
def start_not_a_number(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    return bool(runs) and _put(rng.choice(runs), "start_seconds", math.nan)


@way
def start_infinite(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    return bool(runs) and _put(rng.choice(runs), "start_seconds", math.inf)


@way
def run_left_out(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    if not runs:
        return False
    del runs[rng.randrange(len(runs))]
    return True


@way
def run_twice(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    if not runs:
        return False
    runs.append(copy.deepcopy(rng.choice(runs)))
    return True


@way
def run_of_nobody(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    if not runs:
        return False
    row = rng.choice(runs)
    key = "id" if "id" in row else "job"
    return _put(row, key, -77 if isinstance(row[key], int) else "nobody")


@way
def runs_of_two_swapped(result: Json, rng: random.Random) -> bool:
    runs = _runs(result)
    if len(runs) < 2:
        return False
    one, other = rng.sample(runs, 2)
    key = "id" if "id" in one else "job"
    same = {name: value for name, value in one.items() if name != key}
    if same == {name: value for name, value in other.items() if name != key}:
        return False
    one[key], other[key] = other[key], one[key]
    return True


@way
def task_on_another_node(result: Json, rng: random.Random) -> bool:
    rows = [row for row in _rows(result, "tasks") if "node" in row]
    nodes = sorted({row["node"] for row in rows})
    if len(nodes) < 2:
        return False
    row = rng.choice(rows)
    return _put(
        row, "node", rng.choice([node for node in nodes if node != row["node"]])
    )


@way
def task_on_no_node(result: Json, rng: random.Random) -> bool:
    rows = [row for row in _rows(result, "tasks") if "node" in row]
    return bool(rows) and _put(rng.choice(rows), "node", "nowhere")


@way
def transfer_left_out(result: Json, rng: random.Random) -> bool:
    rows = _rows(result, "transfers")
    if not rows:
        return False
    del rows[rng.randrange(len(rows))]
    return True


@way
def transfer_to_another_node(result: Json, rng: random.Random) -> bool:
    rows = _rows(result, "transfers")
    nodes = sorted({row["destination"] for row in rows if row["destination"]})
    row = rng.choice(rows) if rows else {}
    others = [node for node in nodes if node not in (row["destination"], row["source"])]
    return bool(others) and _put(row, "destination", others[0])


@way
def transfer_from_another_node(result: Json, rng: random.Random) -> bool:
    rows = _rows(result, "transfers")
    nodes = sorted({row["destination"] for row in rows if row["destination"]})
    row = rng.choice(rows) if rows else {"source": None, "destination": None}
    others = [node for node in nodes if node not in (row["destination"], row["source"])]
    if not others:
        return False
    row["source"] = others[-1]
    return True


@way
def transfer_of_no_time(result: Json, rng: random.Random) -> bool:
    rows = [
        r for r in _rows(result, "transfers") if r["end_seconds"] > r["start_seconds"]
    ]
    row = rng.choice(rows) if rows else {}
    return bool(rows) and _put(row, "end_seconds", row["start_seconds"])


@way
def eviction_left_out(result: Json, rng: random.Random) -> bool:
    rows = _rows(result, "evictions")
    return bool(rows) and rows.pop() is not None


@way
def eviction_invented(result: Json, rng: random.Random) -> bool:
    rows = _rows(result, "transfers")
    if not rows or rows[0]["destination"] is None:
        return False
    row = {"file": rows[0]["file"], "node": rows[0]["destination"], "seconds": 0.0}
    result["schedule"]["evictions"] = [*result["schedule"].get("evictions", ()), row]
    return True


@way
def link_of_each_node(result: Json, rng: random.Random) -> bool:
    return _put(result["schedule"] or {}, "link", "per-node")


@way
def disk_of_another_size(result: Json, rng: random.Random) -> bool:
    disks = (result["schedule"] or {}).get("disks") or {}
    return any(_scaled(disks[node], "bytes", 2) for node in sorted(disks))


@way
def request_ends_sooner(result: Json, rng: random.Random) -> bool:
    records = [
        record for record in _requests(result) if record["finish_seconds"] is not None
    ]
    if not records:
        return False
    rng.choice(records)["finish_seconds"] -= 1e-3
    return True


@way
def request_made_sooner(result: Json, rng: random.Random) -> bool:
    records = _requests(result)
    if not records:
        return False
    rng.choice(records)["request_seconds"] -= 1.0
    return True


@way
def request_granted_before_it_is_made(result: Json, rng: random.Random) -> bool:
    records = [r for r in _requests(result) if r["first_grant_seconds"] is not None]
    row = rng.choice(records) if records else {}
    return bool(records) and _put(
        row, "first_grant_seconds", row["request_seconds"] - 1.0
    )


@way
def request_left_out(result: Json, rng: random.Random) -> bool:
    jobs = [job for job in _rows(result, "jobs") if job.get("io")]
    return bool(jobs) and rng.choice(jobs)["io"].pop() is not None


@way
def rate_doubled(result: Json, rng: random.Random) -> bool:
    records = [record for record in _requests(result) if record.get("rates")]
    if not records:
        return False
    rng.choice(records)["rates"][0][2] *= 2
    return True


@way
def rates_left_out_of_one(result: Json, rng: random.Random) -> bool:
    records = [record for record in _requests(result) if record.get("rates")]
    return bool(records) and _put(rng.choice(records), "rates", [])


@way
def job_killed_that_was_not(result: Json, rng: random.Random) -> bool:
    jobs = [job for job in _rows(result, "jobs") if "killed" in job]
    row = rng.choice(jobs) if jobs else {}
    return bool(jobs) and _put(row, "killed", not row["killed"])


@way
def job_on_one_node_more(result: Json, rng: random.Random) -> bool:
    jobs = [job for job in _rows(result, "jobs") if job.get("allocated_nodes")]
    row = rng.choice(jobs) if jobs else {}
    return bool(jobs) and _put(row, "allocated_nodes", row["allocated_nodes"] + 1)


@way
def storage_twice_as_fast(result: Json, rng: random.Random) -> bool:
    return _scaled(result["schedule"], "storage_bytes_per_second", 2.0)


@way
def job_local_that_is_not(result: Json, rng: random.Random) -> bool:
    jobs = [job for job in _rows(result, "jobs") if "local" in job]
    row = rng.choice(jobs) if jobs else {}
    return bool(jobs) and _put(row, "local", not row["local"])


@way
def update_of_the_matrix_left_out(result: Json, rng: random.Random) -> bool:
    updates = _rows(result, "updates")
    if not updates:
        return False
    del updates[rng.randrange(len(updates))]
    return True


@way
def update_of_the_matrix_later(result: Json, rng: random.Random) -> bool:
    updates = _rows(result, "updates")
    if not updates:
        return False
    rng.choice(updates)["seconds"] += 1.0
    return True


@way
def job_in_other_columns(result: Json, rng: random.Random) -> bool:
    rows = _placed(result)
    row = rng.choice(rows) if rows else {"columns": []}
    return bool(rows) and _put(
        row, "columns", [column + 1 for column in row["columns"]]
    )


@way
def job_in_another_home_row(result: Json, rng: random.Random) -> bool:
    rows = _placed(result)
    row = rng.choice(rows) if rows else {}
    return bool(rows) and _put(row, "home_row", row["home_row"] + 1)


@way
def cycle_of_another_length(result: Json, rng: random.Random) -> bool:
    return _scaled(result["schedule"], "cycle_seconds", 2.0)


@way
def frame_of_another_length(result: Json, rng: random.Random) -> bool:
    return _scaled(result["schedule"], "frame_seconds", 2.0)


@way
def window_longer(result: Json, rng: random.Random) -> bool:
    windows = _rows(result, "windows")
    return any(_scaled(window, "end_seconds", 1.5) for window in windows)


@way
def replay_of_another_seed(result: Json, rng: random.Random) -> bool:
    measured = (result["schedule"] or {}).get("measured") or {}
    if "seeds" in measured:
        measured["seeds"] = [seed + 1 for seed in measured["seeds"]]
        return True
    return "seed" in measured and _put(measured, "seed", measured["seed"] + 1)


@way
def quota_twice_as_large(result: Json, rng: random.Random) -> bool:
    return _scaled(result["schedule"], "quota_bytes", 2)


@way
def use_of_the_directory_less(result: Json, rng: random.Random) -> bool:
    steps = [step for step in _rows(result, "use") if step[1] > 0]
    if not steps:
        return False
    rng.choice(steps)[1] -= 1
    return True


@way
def task_of_another_step(result: Json, rng: random.Random) -> bool:
    rows = [row for row in _rows(result, "tasks") if row.get("stage")]
    return bool(rows) and _put(rng.choice(rows), "stage", "elsewhere")


@way
def schedule_without_a_plan(result: Json, rng: random.Random) -> bool:
    """Remove the plan, except for kinds whose schedules are checked without it."""
    return result["kind"] not in ("batch-io", "gang") and _put(result, "plan", None)


# --- the plan


@way
def task_for_no_node(result: Json, rng: random.Random) -> bool:
    assign = result["plan"].get("assign") or {}
    return bool(assign) and _put(assign, rng.choice(sorted(assign)), "nowhere")


@way
def task_in_two_queues(result: Json, rng: random.Random) -> bool:
    queues = [queue for queue in (result["plan"].get("order") or {}).values() if queue]
    if len(queues) < 2:
        return False
    queues[0].append(queues[1][0])
    return True


@way
def task_in_no_queue(result: Json, rng: random.Random) -> bool:
    queues = [queue for queue in (result["plan"].get("order") or {}).values() if queue]
    return bool(queues) and rng.choice(queues).pop() is not None


@way
def task_assigned_elsewhere(result: Json, rng: random.Random) -> bool:
    assign = result["plan"].get("assign") or {}
    nodes = sorted(set(assign.values()))
    task = rng.choice(sorted(assign)) if assign else ""
    others = [node for node in nodes if node != assign.get(task)]
    return bool(others) and _put(assign, task, others[0])


@way
def file_from_nowhere(result: Json, rng: random.Random) -> bool:
    remote = result["plan"].get("remote") or []
    if not remote:
        return False
    remote[0] = ["nothing", remote[0][1]]
    return True


@way
def fetch_left_out(result: Json, rng: random.Random) -> bool:
    remote = result["plan"].get("remote") or []
    return bool(remote) and remote.pop() is not None


@way
def policy_of_another(result: Json, rng: random.Random) -> bool:
    """Name another policy, and leave the schedule as it is."""
    if result["kind"] not in ("batch-io", "gang") or result["schedule"] is None:
        return False
    others = {"batch-io": "no-congestion", "gang": "gs"}
    return _put(result["plan"], "policy", others[result["kind"]])


@way
def volumes_doubled(result: Json, rng: random.Random) -> bool:
    return _put(result["plan"], "ef", 2.0)


@way
def starts_of_another_loop(result: Json, rng: random.Random) -> bool:
    other = "open" if result["plan"].get("loop") == "closed" else "closed"
    return _put(result["plan"], "loop", other)


@way
def grant_above_the_peak(result: Json, rng: random.Random) -> bool:
    grants = result["plan"].get("grants") or {}
    if not grants:
        return False
    grants[sorted(grants)[0]] = 1e15
    return True


@way
def grant_left_out(result: Json, rng: random.Random) -> bool:
    grants = result["plan"].get("grants") or {}
    return bool(grants) and grants.pop(sorted(grants)[0]) is not None


@way
def job_dropped_from_the_matrix(result: Json, rng: random.Random) -> bool:
    jobs = result["plan"].get("jobs") or []
    return bool(jobs) and jobs.pop() is not None


@way
def two_jobs_in_one_cell(result: Json, rng: random.Random) -> bool:
    jobs = result["plan"].get("jobs") or []
    if len(jobs) < 2:
        return False
    jobs[0] |= {key: jobs[1][key] for key in ("columns", "rows", "home_row")}
    return True


@way
def option_off_the_menu(result: Json, rng: random.Random) -> bool:
    options = result["plan"].get("options") or {}
    return any(
        _scaled(options[name], "quantum_seconds", 1.37) for name in sorted(options)
    )


@way
def visits_one_more(result: Json, rng: random.Random) -> bool:
    options = result["plan"].get("options") or {}
    row = options[rng.choice(sorted(options))] if options else {}
    return bool(options) and _put(row, "visits", row["visits"] + 1)


@way
def home_out_of_the_machine(result: Json, rng: random.Random) -> bool:
    home = result["plan"].get("home") or {}
    return bool(home) and _put(home, rng.choice(sorted(home)), 10_000)


@way
def loose_time_out_of_nowhere(result: Json, rng: random.Random) -> bool:
    tau = result["plan"].get("tau_seconds") or {}
    return any(_scaled(tau, name, 50.0) for name in sorted(tau))


@way
def start_of_a_plan_moved_back(result: Json, rng: random.Random) -> bool:
    starts = [row for row in result["plan"].get("starts") or () if row[0] > 0]
    if not starts:
        return False
    starts[-1][0] *= 0.5
    return True


@way
def start_of_a_plan_left_out(result: Json, rng: random.Random) -> bool:
    starts = result["plan"].get("starts") or []
    return bool(starts) and starts.pop() is not None


# --- running them


QUICK = (
    ("cycle3", "ip"),
    ("cycle3", "minmin"),
    ("rounds4", "two-stage"),
    ("eight-tasks", "heft"),
    ("two-writers", "fill"),
    ("small-8", "no-congestion"),
    ("two-writers-now", "base-line"),
    ("gang-figure-5", "migrate-iogs"),
    ("gang-figure-7", "gs"),
    ("flexgang-tiny", "strict"),
    ("directory-wait", "in-flight"),
)
"""Pairs of an instance and a solver that take little time."""
MORE = (
    ("cycle3", "ip-printed"),
    ("cycle3", "job-data-present"),
    ("two-pairs", "link-aware"),
    ("held", "auto"),
    ("idle-root", "hierarchical"),
    ("sat-16x3", "minmin"),
    ("image-16x3", "job-data-present"),
    ("eight-tasks", "locality"),
    ("eight-tasks", "exact-workflow"),
    ("flow-chains", "b-level"),
    ("flow-montage", "ready-min-min"),
    ("flow-groups", "fifo"),
    ("two-writers", "io-exact"),
    ("two-writers", "base-line"),
    ("small-8", "cons-max-util"),
    ("small-8", "auto"),
    ("small-8", "cons-fcfs+top"),
    ("io-sets-12", "set-10"),
    ("two-writers-now", "cons-max-util"),
    ("two-writers-now", "no-congestion"),
    ("gang-figure-5", "auto"),
    ("gang-mixed-60", "iogs"),
    ("gang-figure-3", "migrate-iogs"),
    ("gang-crowded-now", "index-iogs"),
    ("flexgang-tiny", "flex-exact"),
    ("flexgang-heavy-mix", "greedy"),
    ("quantum-plain", "quantum-greedy"),
    ("quantum-mixed", "quantum-ip"),
    ("directory-two-chains", "exact"),
    ("directory-chains", "depth-first"),
    ("directory-montage", "search"),
)
"""Further pairs, of every kind; with the quick ones they give 2,000 documents."""


REPLAYED, REPLAYED_SHARE = (
    (
        "flexgang-heavy-mix",
        "quantum-plain",
        "quantum-mixed",
        "io-sets-12",
        "flexgang-tiny",
    ),
    0.1,
)
"""Instances whose check takes tenths of a second, and the share of their forgeries that
is tried.
"""


@dataclass(frozen=True)
class Forgery:
    """A forged document, with the way it was made, its instance, and the settings of
    the true result.
    """

    way: str
    source: str
    document: Json
    settings: Json


@dataclass
class Counts:
    """The number of forgeries that were rejected or named as not recomputed, and lists
    of the others.

    ``silent``: forgeries that passed. ``broken``: those on which ``check`` failed.
    """

    found: int = 0
    told: int = 0
    silent: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    by_way: Counter[str] = field(default_factory=Counter)

    @property
    def tried(self) -> int:
        """Return the number of all forgeries tried."""
        return self.found + self.told + len(self.silent) + len(self.broken)


def true_results(
    cases: Sequence[tuple[str, str]], seed: int = 0, time_limit: float = 2.0
) -> list[tuple[str, Json]]:
    """Return (instance, result) for each pair of an instance and a solver, as plain
    data.
    """
    import ioopt

    found = []
    for source, solver in cases:
        result = ioopt.solve(source, solver, time_limit=time_limit, seed=seed)
        found.append((source, json.loads(json.dumps(result.to_dict()))))
    return found


def forgeries(results: Sequence[tuple[str, Json]], seed: int) -> Iterator[Forgery]:
    """Yield a forgery for each result and each way that applies to it.

    For instances with slow checks, only a random share is made.
    """
    part = random.Random(seed)
    for source, result in results:
        for name, function in WAYS.items():
            if source in REPLAYED and part.random() > REPLAYED_SHARE:
                continue
            forged = copy.deepcopy(result)
            if function(forged, random.Random(f"{seed} {source} {name}")):
                yield Forgery(name, source, forged, result["settings"])


def written(document: Json) -> str:
    """Return the text of a document, with infinity written as a number that is too
    large.
    """
    text = json.dumps(document)
    return text.replace("-Infinity", "-1e400").replace("Infinity", "1e400")


def judged(
    source: str, document: Json, settings: Json, folder: Path
) -> tuple[int, str]:
    """Write a document to *folder*; return the exit code and standard error of ``ioopt
    check``.
    """
    path = folder / "result.json"
    path.write_text(written(document), "utf-8")
    asked = [
        word for key, value in settings.items() for word in ("--set", f"{key}={value}")
    ]
    return run_command(["check", source, os.fspath(path), *asked])


def tried(forged: Sequence[Forgery], folder: Path) -> Counts:
    """Have ``ioopt check`` judge every forgery, and count the outcomes."""
    counts = Counts()
    for one in forged:
        code, said = judged(one.source, one.document, one.settings, folder)
        place = f"{one.way} of {one.document.get('solver')} on {one.source}"
        counts.by_way[one.way] += 1
        if code in (2, 5):
            counts.found += 1
        elif code != 0:
            counts.broken.append(f"{place}: exit {code}: {said}")
        elif NAMED.get(one.way, "nothing") in said:
            counts.told += 1
        else:
            counts.silent.append(place)
    return counts
