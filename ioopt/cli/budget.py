"""``ioopt budget``: what a quota on the shared work directory costs, and what to set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ioopt.cli.lazy import IooptCommand, Seconds, quiet
from ioopt.cli.options import PATH, file_argument, format_option, output_option
from ioopt.errors import ExitCode, UsageError
from ioopt.problems.base import Json

if TYPE_CHECKING:
    from ioopt.problems.work_directory import WorkDirectoryProblem

EPILOG = """\b
Examples:
  ioopt budget methylseq.json --cores 64 --samples 20 --quota 300GB
  ioopt budget trace.txt --dag dag.dot --cores 32 --quota 2TB --nextflow nextflow.config
  ioopt budget methylseq-work --noise 0.3 --size-noise 0.1 --plot curve.png
"""


def recorded(command: Any) -> Any:
    """The options that say on which machine a recorded workflow is to run."""
    for option in (
        click.option("--scratch", type=click.FloatRange(min=0), default=0.0, metavar="FACTOR",
                     help="Scratch of a task while it runs, times its outputs: no record tells it."),
        click.option("--quota", metavar="BYTES", help="Size of the work directory, such as 10TB."),
        click.option("--cores", type=click.IntRange(min=1), metavar="N", help="Cores of the machine."),
        click.option("--samples", type=click.IntRange(min=1), default=1, metavar="N",
                     help="Copies of the recorded workflow, a sample each."),
    ):  # fmt: skip
        command = option(command)
    return command


def taken(cores: int | None, quota: str | None, samples: int, scratch: float) -> Any:
    """The :class:`~ioopt.advice.recorded.Wanted` of these options."""
    from ioopt.advice.recorded import Wanted
    from ioopt.units import parse_bytes

    try:
        size = None if quota is None else parse_bytes(quota)
    except UsageError as error:
        raise UsageError(f"--quota: {error}") from None
    return Wanted(cores, size, samples, scratch)


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@recorded
@click.option("--dag", metavar="FILE", type=PATH, help="Of a Nextflow trace: the run's DAG.")
@click.option("--noise", type=click.FloatRange(0, 10), metavar="SIGMA",
              help="Also run with times that differ from the estimates (log-normal, 20 seeds).")  # fmt: skip
@click.option("--size-noise", type=click.FloatRange(0, 10), metavar="SIGMA",
              help="The same for the bytes of files: how much head-room they need.")  # fmt: skip
@click.option(
    "--nextflow", metavar="FILE", type=PATH, help="Write a nextflow.config that keeps it."
)
@click.option("--plot", "picture", metavar="OUT", type=PATH, help="Draw the curve.")
@click.option("--time-limit", type=Seconds(), default=20.0, metavar="S", help="Seconds of search.")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N")
@output_option(text="Write the work-directory instance that was asked about.")
@format_option("table", "json")
def budget(file: str, cores: int | None, quota: str | None, samples: int, scratch: float,
           dag: str | None, nextflow: str | None, picture: str | None,
           output: str | None, form: str, **how: Any) -> int:  # fmt: skip
    """Say whether the workflow in FILE fits a quota on its work directory, and what that costs.

    FILE is an ioopt/work-directory instance, a WfFormat workflow or a Nextflow trace.
    """
    from ioopt.advice.recorded import read_work_directory
    from ioopt.formats.native import dump_json, reading, write_text
    from ioopt.plot.page import check_target
    from ioopt.tables import say

    if picture is not None:
        check_target(picture)
    with reading(file):
        problem = read_work_directory(file, taken(cores, quota, samples, scratch), dag)
    if problem.quota_bytes is None and (nextflow or how["noise"] or how["size_noise"]):
        raise UsageError("--quota BYTES: --nextflow and --noise need one")
    found = _found(problem, nextflow, **how)
    if not quiet():
        for text in (*problem.warnings, *found["notes"]):
            say(f"note: {text}")
    if output is not None:
        write_text(output, dump_json(problem.model_dump(mode="json", by_alias=True)))
    if picture is not None:
        from ioopt.plot.page import save
        from ioopt.plot.work_directory import plot_frontier

        save(plot_frontier(found["curve"], problem.name), picture)
    click.echo(dump_json(found) if form == "json" else _lines(problem, found), nl=False)
    at = found["at_quota"] or {}
    if nextflow and found["setting"] and found["nextflow"] is None:
        say(f"{nextflow}: not written: no caps found that keep the quota")
        return ExitCode.NO_ANSWER
    return {"infeasible": ExitCode.INFEASIBLE, "unknown": ExitCode.NO_ANSWER}.get(
        at.get("status", ""), ExitCode.ANSWER
    )


def _found(
    problem: WorkDirectoryProblem, nextflow: str | None, noise: float | None,
    size_noise: float | None, time_limit: float | None, seed: int,
) -> Json:  # fmt: skip
    """All that is asked, as plain data; writes *nextflow*."""
    from ioopt.advice import budget as ask
    from ioopt.formats.native import write_text
    from ioopt.options import Deadline
    from ioopt.problems.work_directory import WorkDirectoryPlan
    from ioopt.solvers.work_directory.frontier import SHARES, frontier, unlimited
    from ioopt.solving import solve

    half, quota = None if time_limit is None else time_limit / 2, problem.quota_bytes
    free, least = unlimited(problem), ask.least_quota(problem)
    told: Json = {
        "format": "ioopt/budget", "version": 1, "instance": problem.name, "cores": problem.cores,
        "tasks": len(problem.tasks), "samples": len({*problem.samples} - {-1}),
        "quota_bytes": quota, "least": least, "unlimited": free, "at_quota": None,
        "setting": None, "nextflow": None, "noise": None, "notes": [],
    }  # fmt: skip
    quotas = {-int(-share * free["peak_bytes"] // 1) for share in SHARES} | {least["found_bytes"]}
    if quota is not None:
        result = solve(problem, "search", time_limit=half, seed=seed)
        told["notes"] += result.notes
        told["at_quota"] = {
            "status": "feasible" if result.plan else str(result.status), "bound": result.bound,
            **{key: result.metrics.get(key) for key in ("makespan_seconds", "peak_bytes")},
        }  # fmt: skip
        if result.plan:
            told["setting"] = ask.setting(problem)
            if nextflow is not None:
                plan = WorkDirectoryPlan.model_validate(result.plan)
                caps, met = ask.choose_caps(problem, plan, quota, Deadline(half))
                shown = None if caps is None else {"tasks": caps.tasks, "forks": dict(caps.forks)}
                told["caps_met"] = met
                if caps is not None:
                    write_text(nextflow, ask.nextflow_config(problem, caps, met))
                    told["nextflow"] = shown
            if told["setting"] and (noise is not None or size_noise is not None):
                told["noise"] = ask.noisy(problem, told["setting"], noise or 0.0, size_noise or 0.0)
    told["curve"] = frontier(problem, ask.request(half, seed), sorted(quotas))
    for row in (*told["curve"], *([told["at_quota"]] if told["at_quota"] else [])):
        for other in (free, told.get("caps_met") or free):
            ask.no_worse(row, other, row.get("quota_bytes", quota))
    return told


def _lines(problem: WorkDirectoryProblem, found: Json) -> str:
    """The answer in six lines, with the curve as a table among them."""
    from ioopt.tables import render, terminal_width
    from ioopt.units import counted, quantity

    def size(value: int) -> str:
        return quantity("bytes", value)

    def time(value: float) -> str:
        return quantity("seconds", value)

    least, free, at, quota = (
        found[key] for key in ("least", "unlimited", "at_quota", "quota_bytes")
    )
    low, most = least["bound_bytes"], least["found_bytes"]
    proven = "proven" if low == most else f"none below {size(low)}"
    what = f"{counted(found['tasks'], 'task')}, {counted(found['samples'], 'sample')}"
    rows = [
        ("workflow", f"{problem.name}: {what}, {counted(problem.cores, 'core')}"),
        ("least quota", f"{size(most)} ({proven})"),
        ("no quota", f"{time(free['makespan_seconds'])}, peak {size(free['peak_bytes'])}"),
    ]
    if at and at["makespan_seconds"] is not None:
        span = at["makespan_seconds"]
        ratio = span / free["makespan_seconds"] if free["makespan_seconds"] else 1.0
        text = f"{time(span)} ({ratio:.2f} x), peak {size(at['peak_bytes'])}; none below {time(at['bound'])}"
        rows.append((f"at {size(quota)}", text))
    elif at:
        text = "cannot end" if at["status"] == "infeasible" else "no order found"
        rows.append((f"at {size(quota)}", f"{text}; {size(max(0, most - quota))} more would do"))
    if chosen := found["setting"]:
        flags = (
            f"--scheduler ioopt --scheduler-ioopt-data --scheduler-ioopt-disk-mb {quota // 10**6}"
        )
        rows.append(
            (
                "set",
                f"{chosen['policy']}, safe, in_flight={chosen['in_flight']}; Snakemake: {flags}",
            )
        )
    if caps := found["nextflow"]:
        met = found["caps_met"]
        text = f"{time(met['makespan_seconds'])}, peak {size(met['peak_bytes'])}"
        text += f" with queueSize {caps['tasks']}"
        rows.append(("nextflow", f"{text}, {counted(len(caps['forks']), 'maxForks cap')}"))
    elif met := found.get("caps_met"):
        text = f"no caps tried keep the quota: least peak {size(met['peak_bytes'])}; not written"
        rows.append(("nextflow", text))
    if noise := found["noise"]:
        text = f"{time(noise['median_seconds'])}, at worst {time(noise['worst_seconds'])}"
        room = (
            f"plan with 1/{noise['headroom']:.2f} of the quota"
            if noise["headroom"] > 1
            else "enough"
        )
        text += f"; peak {size(noise['peak_bytes'])} as estimated"
        text += f", {size(noise['real_peak_bytes'])} real: {room}"
        rows.append((f"{noise['runs']} noisy runs", text))
    curve = [
        (size(row["quota_bytes"]), row["makespan_seconds"] and time(row["makespan_seconds"]),
         time(row["bound"]), row["status"])
        for row in found["curve"]
    ]  # fmt: skip
    width = terminal_width()
    whole = render(("", "answer"), rows, width=width, wrap=1)
    return f"{whole}\n{render(('quota', 'makespan', 'bound', 'status'), curve, width=width)}"
