"""``ioopt check``: judge an instance, a plan and all statements of a result."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import click

from ioopt import registry
from ioopt.checking import Judgement, judgement, require_servable
from ioopt.cli.lazy import IooptCommand, Seconds, set_option
from ioopt.cli.options import (
    LOG_SECONDS,
    PATH,
    counting,
    file_argument,
    format_option,
    printing_aside,
    read_result,
)
from ioopt.errors import ExitCode, IooptError, UsageError
from ioopt.explaining import explain
from ioopt.formats.native import dump_json, reading
from ioopt.loading import load, plan_of
from ioopt.pictures import result_to_draw
from ioopt.problems.base import Problem, Rows
from ioopt.result import Result, Status
from ioopt.run_statements import stated_of_run
from ioopt.solving import check_plan
from ioopt.tables import percent, render, say, terminal_width
from ioopt.units import column, counted, quantity, title
from ioopt.verdict import proves

EPILOG = """\b
Examples:
  ioopt check image.json
  ioopt check image.json result.json
  ioopt check image.json replay.json --link per-node
  ioopt check trace.json open.json --set loop=open
  ioopt check image.json noisy.json --set actual=12     (12 tasks took other times)
  ioopt check flow-groups result.json --explain
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@click.argument("result", required=False, type=PATH)
@click.option(
    "--link", type=click.Choice(["shared", "per-node"]), help="The same as --set link=."
)
@set_option("A setting that RESULT may add to FILE: loop, ef, link, actual.")
@click.option(
    "--explain",
    "explaining",
    is_flag=True,
    help="Explain a plan without violations: times, waste, bound, and the resource "
    "that would help most. Plans are replayed with 10 % more of each resource, and "
    "searches end after a number of replays: the same RESULT gives the same text.",
)
@click.option(
    "--time-limit", type=Seconds(), hidden=True, metavar="S", help="Without effect."
)
@format_option("table", "json")
def check(
    file: str,
    result: str | None,
    link: str | None,
    settings: Mapping[str, str],
    explaining: bool,
    time_limit: float | None,
    form: str,
) -> int:
    """Check FILE and, with RESULT, also its plan, its schedule and everything it
    states.

    Each violation is printed on a line of its own. Statements that cannot be recomputed
    are named on standard error.
    """
    problem = load(file)
    if explaining:
        if result is None:
            raise UsageError("--explain needs a RESULT of FILE")
        if time_limit is not None:
            say("--time-limit no longer does anything: --explain counts replays")
        _explain(problem, result, form)
        return ExitCode.ANSWER
    if form != "table":
        raise UsageError(f"--format {form} is only for --explain")
    require_servable(problem)
    if result is None:
        kind = registry.format_of_problem(problem).format
        click.echo(f"{file}: valid {kind} instance {problem.name!r}")
        return ExitCode.ANSWER
    expected: dict[str, Any] = {key: _value(text) for key, text in settings.items()}
    if link is not None:
        expected["link"] = link
    return _tell(problem, result, expected)


def _tell(problem: Problem, result: str, expected: Mapping[str, object]) -> int:
    """Print what is wrong with the file *result*, under the settings *expected*; return
    the exit code.
    """
    data, judged = _judged(problem, result, expected)
    found, left, excused = judged
    told = data.get("instance")
    if found and told not in (None, problem.name):
        click.echo(f"{result}: a result of {told!r}, checked against {problem.name!r}:")
    for violation in found:
        click.echo(str(violation))
    if expected:
        under = ", ".join(f"{key}={value}" for key, value in expected.items())
        click.echo(f"{result}: checked under {under}")
    if not found and _proven_anew(problem, data, result, left):
        left.remove("bound")
        said = f"{quantity(str(data['objective_name']), data['bound'])}"
        click.echo(f"{result}: the bound {said} was proven anew", err=True)
    _tell_unjudged(data, result, left)
    if found:
        return ExitCode.VIOLATIONS
    if excused:
        places = counted(len(excused), "place")
        verdict = (
            "a reference, not a plan to run: it breaks a rule of the machine by design "
            f"({places}, the first: {excused[0]})"
        )
    else:
        verdict = f"no violation{_value_of_plan(problem, data, result)}"
    click.echo(f"{result}: {verdict}")
    return ExitCode.ANSWER


def _judged(
    problem: Problem, result: str, expected: Mapping[str, object]
) -> tuple[Mapping[str, Any], Judgement]:
    """Return the data of the file *result*, and their judgement."""
    kind = registry.kind_of_problem(problem)
    data = read_result(result, kind, columns=True)
    if isinstance((data.get("schedule") or {}).get("jobs"), Rows):
        with suppress(IooptError), reading(result):
            judged = judgement(problem, data, result, expected)
            if not judged.violations:
                return data, judged
        # The rows as they stand in the file say what is wrong.
        data = read_result(result, kind)
    with reading(result):
        return data, judgement(problem, data, result, expected)


def _proven_anew(
    problem: Problem, data: Mapping[str, Any], result: str, left: list[str]
) -> bool:
    """Return whether a short proof reaches the bound on which "optimal" rests."""
    if "bound" not in left or data.get("status") != Status.OPTIMAL:
        return False
    kind = registry.kind_of_problem(problem)
    metric = kind.metric(str(data["objective_name"]))
    plan = plan_of(kind, data["plan"], result)
    proven = kind.short_proof(problem, plan, metric.name)
    return proven is not None and proves(metric.sense, data["bound"], proven)


def _value_of_plan(problem: Problem, data: Mapping[str, Any], result: str) -> str:
    """Return the objectives of the plan, as text to follow "no violation"; empty if the
    result states its objective.
    """
    if data.get("objective") is not None or data.get("plan") is None:
        return ""
    kind = registry.kind_of_problem(problem)
    plan = plan_of(kind, data["plan"], result)
    objectives = check_plan(kind, problem, plan, data.get("schedule")).objectives
    return "".join(
        f"; {title(name)} {quantity(name, value)}" for name, value in objectives.items()
    )


def _tell_unjudged(data: Mapping[str, object], result: str, left: list[str]) -> None:
    """Name, on standard error, the statements of the result that cannot be
    recomputed.
    """
    names = [*left, *stated_of_run(data)]
    if not names:
        return
    click.echo(f"{result}: not recomputed: {', '.join(names)}", err=True)
    if "bound" in left and data.get("status") == Status.OPTIMAL:
        click.echo(
            f'{result}: "optimal" rests on the bound {data["bound"]!r}, which only its '
            "solver states",
            err=True,
        )


def _value(text: str) -> float | str:
    """Return *text* as a number if it is one, else unchanged."""
    try:
        return float(text)
    except ValueError:
        return text


def _explain(problem: Problem, result: str, form: str) -> None:
    """Print the explanation of a plan in five sentences, and a table of the effects of
    10 % more of each resource.
    """
    kind = registry.kind_of_problem(problem)
    solved = result_to_draw(read_result(result, kind), result)
    with (
        printing_aside(),
        counting("explain", transient=True, every=LOG_SECONDS) as show,
    ):
        found = explain(problem, solved, show)
    if form == "json":
        click.echo(dump_json(asdict(found)), nl=False)
        return
    if found.addends:
        click.echo(f"{_sums(found.addends, solved)}\n")
    for sentence in found.sentences:
        click.echo(_wrapped(sentence))
    # Values and bounds are formatted as one column, so that they share a unit.
    values = [knob.value for knob in found.knobs]
    bounds = [knob.bound for knob in found.knobs]
    texts = column(found.measure, [*values, *bounds])
    rows = []
    for k, knob in enumerate(found.knobs):
        name = knob.resource or "best plan, as it is"
        if name in found.assumed:
            name += " (assumed)"
        gain = percent(_seen(knob.gain)) if knob.sure else "cannot tell"
        rows.append((name, texts[k], gain, texts[len(values) + k]))
    headers = ("10 % more of", title(found.measure), "gain", "bound")
    click.echo(f"\n{render(headers, rows)}\n{_wrapped(found.method)}")


LEAST_GAIN = 1e-5
"""Smaller gains are printed as 0: they are rounding of the replays."""


def _seen(gain: float | None) -> float | None:
    """Return *gain*, or 0 if it is too small to mean anything."""
    return 0.0 if gain is not None and abs(gain) < LEAST_GAIN else gain


MOST_SUMS = 12
"""The largest number of nodes whose sums are printed, the busiest first."""


def _sums(addends: Mapping[str, Mapping[str, float]], result: Result) -> str:
    """Return the table of what the objective of *result* adds up for each node, and the
    sentence that names the busiest.
    """
    name = str(result.objective_name)
    busiest = sorted(addends, key=lambda node: -addends[node]["sum"])[:MOST_SUMS]
    shown = [node for node in addends if node in busiest]
    texts = iter(column(name, [s for node in shown for s in addends[node].values()]))
    rows = [(node, *(next(texts) for _ in addends[node])) for node in shown]
    said = (
        f"The {title(name)} objective is the largest sum, that of {busiest[0]}; a copy "
        "counts at both ends."
    )
    if len(shown) < len(addends):
        said += f" The table has the {len(shown)} busiest of {len(addends)} nodes."
    return f"{render(('node', *addends[shown[0]]), rows)}\n{_wrapped(said)}"


def _wrapped(sentence: str) -> str:
    """Return *sentence* in lines, with no break between a number and its percent
    sign.
    """
    text = click.wrap_text(sentence.replace(" %", "\0%"), terminal_width())
    return text.replace("\0%", " %")
