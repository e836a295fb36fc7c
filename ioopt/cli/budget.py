"""``ioopt budget``: what a quota on the shared work directory
costs, and what to set.
"""

from collections.abc import Iterator
from typing import Any

import click

from ioopt.cli.lazy import IooptCommand, Seconds, quiet
from ioopt.cli.options import PATH, file_argument, format_option, skip_bad_option
from ioopt.errors import ExitCode, UsageError
from ioopt.formats.native import dump_json, reading, write_text
from ioopt.options import Deadline
from ioopt.plot.page import check_target, save
from ioopt.plot.work_directory import plot_frontier
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.tables import render, say, terminal_width
from ioopt.units import counted, parse_bytes, quantity

EPILOG = """\b
Examples:
  ioopt budget methylseq.json --cores 64 --samples 20 --quota 300GB
  ioopt budget trace.txt --dag dag.html --cores 32 --quota 2TB --nextflow nextflow.config
  ioopt budget directory-methylseq --noise 0.3 --size-noise 0.1 --plot curve.png
"""


def recorded(command: Any) -> Any:
    """The options that say how a recorded workflow is read, and on which
    machine it is to run.
    """
    for option in (
        skip_bad_option,
        click.option(
            "--read",
            type=click.Choice(["rchar", "read_bytes"]),
            default="rchar",
            help="Of a trace: bytes from rchar and wchar, or from read_ and "
            "write_bytes.",
        ),
        click.option(
            "--dag",
            metavar="FILE",
            type=PATH,
            help="Of a trace: the run's DAG, from -with-dag.",
        ),
        click.option(
            "--scratch",
            type=click.FloatRange(min=0),
            default=0.0,
            metavar="FACTOR",
            help="Scratch of a task while it runs, times its outputs: no record tells "
            "it.",
        ),
        click.option(
            "--quota", metavar="BYTES", help="Size of the work directory, such as 10TB."
        ),
        click.option(
            "--cores",
            type=click.IntRange(min=1),
            metavar="N",
            help="Cores of the machine.",
        ),
        click.option(
            "--samples",
            type=click.IntRange(min=1),
            default=1,
            metavar="N",
            help="Copies of the recorded workflow, a sample each.",
        ),
    ):
        command = option(command)
    return command


def read_recorded(file: str, quota: str | None, **told: Any) -> WorkDirectoryProblem:
    """The instance that FILE and the options of :func:`recorded` describe."""
    from ioopt.advice.recorded import read_work_directory

    try:
        size = None if quota is None else parse_bytes(quota)
    except UsageError as error:
        raise UsageError(f"--quota: {error}") from None
    with reading(file):
        return read_work_directory(file, quota=size, **told)


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@recorded
@click.option(
    "--noise",
    type=click.FloatRange(0, 10),
    metavar="SIGMA",
    help="Also run with times that differ from the estimates (log-normal, 20 seeds).",
)
@click.option(
    "--size-noise",
    type=click.FloatRange(0, 10),
    metavar="SIGMA",
    help="The same for the bytes of files: how much head-room they need.",
)
@click.option(
    "--nextflow",
    metavar="FILE",
    type=PATH,
    help="Write a nextflow.config that keeps it.",
)
@click.option("--plot", "picture", metavar="OUT", type=PATH, help="Draw the curve.")
@click.option(
    "--time-limit", type=Seconds(), default=30.0, metavar="S", help="Seconds in all."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N")
@format_option("table", "json")
def budget(
    file: str,
    noise: float | None,
    size_noise: float | None,
    nextflow: str | None,
    picture: str | None,
    time_limit: float | None,
    seed: int,
    form: str,
    **told: Any,
) -> int:
    """Say whether the workflow in FILE fits a quota on its work directory,
    and what that costs.

    FILE is an ioopt/work-directory instance, a WfFormat workflow or a Nextflow trace.
    """
    deadline = Deadline(time_limit)  # what is loaded and read counts too
    from ioopt.advice.budget import answer, nextflow_config

    if picture is not None:
        check_target(picture)
    problem = read_recorded(file, **told)
    wrong = (
        None
        if noise is None and size_noise is None
        else (noise or 0.0, size_noise or 0.0)
    )
    if problem.quota_bytes is None and (nextflow or wrong):
        raise UsageError("--quota BYTES: --nextflow and --noise need one")
    found = answer(problem, deadline, seed, nextflow is not None, wrong)
    if not quiet():
        for text in (*problem.warnings, *found["notes"]):
            say(f"note: {text}")
    if picture is not None:
        save(plot_frontier(found["curve"], problem.name), picture)
    click.echo(dump_json(found) if form == "json" else _tables(found), nl=False)
    caps, status = found["nextflow"], (found["at_quota"] or {}).get("status", "")
    if nextflow is not None and caps is not None:
        if caps["peak_bytes"] > found["quota_bytes"]:
            say(f"{nextflow}: not written: no caps found that keep the quota")
            return ExitCode.NO_ANSWER
        write_text(nextflow, nextflow_config(found))
    codes = {"infeasible": ExitCode.INFEASIBLE, "unknown": ExitCode.NO_ANSWER}
    return codes.get(status, ExitCode.ANSWER)


def _size(value: int) -> str:
    return quantity("bytes", value)


def _time(value: float | None) -> str:
    return "-" if value is None else quantity("seconds", value)


def _run(metrics: Json) -> str:
    return f"{_time(metrics['makespan_seconds'])}, peak {_size(metrics['peak_bytes'])}"


def _tables(found: Json) -> str:
    """What was asked in a few lines, and the curve."""
    curve = [
        (
            _size(row["quota_bytes"]),
            _time(row["makespan_seconds"]),
            _time(row["bound"]),
            row["status"],
        )
        for row in found["curve"]
    ]
    width = terminal_width()
    whole = render(("", "answer"), [*_rows(found)], width=width, wrap=1)
    return f"{whole}\n{render(('quota', 'makespan', 'bound', 'status'), curve, width=width)}"


def _rows(found: Json) -> Iterator[tuple[str, str]]:
    """(what, answer) of all that was asked."""
    least, free, at, quota = (
        found[key] for key in ("least", "unlimited", "at_quota", "quota_bytes")
    )
    low, most = least["bound_bytes"], least["found_bytes"]
    counts = (counted(found[f"{what}s"], what) for what in ("task", "sample", "core"))
    yield "workflow", f"{found['instance']}: {', '.join(counts)}"
    assumed = "if tasks were independent"
    if found["independent"]:
        yield (
            "tasks",
            "no DAG says which wait for which (--dag FILE): independent below",
        )
        why = assumed
    else:
        why = "proven" if low == most else f"none below {_size(low)}"
    yield "least quota", f"{_size(most)} ({why})"
    yield "no quota", f"{_run(free)}, in order of submission"
    if at and at["makespan_seconds"] is not None:
        ratio = at["makespan_seconds"] / (free["makespan_seconds"] or 1.0)
        why = assumed if found["independent"] else f"none below {_time(at['bound'])}"
        yield f"at {_size(quota)}", f"{_run(at)}: {ratio:.2f} x; {why}"
    elif at:
        text = "cannot end" if at["status"] == "infeasible" else "no order found"
        yield (
            f"at {_size(quota)}",
            f"{text}; {_size(max(0, most - quota))} more would do",
        )
    if how := found["setting"]:
        cap = how["in_flight"]
        yield "set", f"{how['policy']}, safe, in_flight={cap}: {_run(how)}"
        flags = (
            f"--scheduler-ioopt-policy {how['policy']} --scheduler-ioopt-in-flight "
            f"{cap}"
        )
        yield (
            "snakemake",
            f"--scheduler ioopt {flags} --scheduler-ioopt-disk-mb {quota // 10**6}",
        )
    if caps := found["nextflow"]:
        forks = counted(len(caps["forks"]), "maxForks cap")
        text = f"{_run(caps)}, with queueSize {caps['tasks']} and {forks}"
        if caps["peak_bytes"] > quota:
            text = (
                "no caps tried keep it, the least peak is "
                f"{_size(caps['peak_bytes'])}: not written"
            )
        yield "nextflow", text
    if noise := found["noise"]:
        text = (
            f"{_time(noise['median_seconds'])}, at worst "
            f"{_time(noise['worst_seconds'])}"
        )
        text += f", peak {_size(noise['peak_bytes'])}, {noise['stuck']} stuck"
        if (plan := noise["plan_bytes"]) < quota or not noise["tried"]:
            why = "all keep the quota" if noise["tried"] else "not tried"
            text += f"; plan with {_size(plan)}, {plan / quota:.0%} ({why})"
        yield counted(noise["runs"], "noisy run"), text
