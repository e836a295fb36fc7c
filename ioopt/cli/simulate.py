"""``ioopt simulate``: replay a plan on the timeline simulator."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ioopt import registry
from ioopt.cli import options
from ioopt.cli.lazy import IooptCommand, Number, set_option
from ioopt.cli.options import PATH
from ioopt.errors import UsageError
from ioopt.families import Kind, SolverSpec
from ioopt.formats.native import dump_json, read_json, reading, write_text
from ioopt.formats.trace_events import timeline_csv, trace_events_json
from ioopt.loading import load, plan_of
from ioopt.options import parse_settings
from ioopt.problems.base import LONGEST_SECONDS, Json, plain
from ioopt.problems.replication import (
    DRAWS,
    MOST_NOISE,
    BatchOptions,
    ReplayOptions,
    ReplicationPlan,
)
from ioopt.protocols import Metrics, Simulation
from ioopt.solving import simulate as replay
from ioopt.solving import with_bounds
from ioopt.tables import render, terminal_width
from ioopt.units import is_number, quantity
from ioopt.verdict import heading

if TYPE_CHECKING:
    from ioopt.sim.replication.build import Noise

NOISE_KEYS = ("latency_seconds", "sharing_noise", "draws")
"""What noisy replays were asked for, beside what came of them."""
DISPATCHERS = ("fifo", "locality", "ready-min-min", "rolling")
EPILOG = """\b
Examples:
  ioopt simulate image.json result.json
  ioopt simulate image.json result.json --link per-node --format json
  ioopt simulate image.json result.json --timeline trace.json   (open it in Perfetto)
  ioopt simulate workflow.json result.json --actual-noise 0.3 --seed 7
  ioopt simulate workflow.json --solver locality --actual-noise 0.3 --seed 7
  ioopt simulate workflow.json result.json --set sources=least-loaded
  ioopt simulate image.json result.json --set moves=schedule --sharing-noise 0.2
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@options.file_argument()
@click.argument("result", required=False, type=PATH)
@click.option(
    "--link",
    type=click.Choice(["shared", "per-node"]),
    help="Replay with this remote link instead of the instance's own.",
)
@click.option(
    "--timeline",
    metavar="OUT",
    help="Write the timeline: OUT.json (Trace Events) or .csv.",
)
@click.option(
    "--actual-noise",
    "sigma",
    type=float,
    metavar="SIGMA",
    help="Multiply planned compute seconds by lognormal(0, SIGMA) noise. Transfers are "
    "as planned.",
)
@click.option("--seed", type=int, default=0, help="Seed of that noise (default 0).")
@click.option(
    "--sharing-noise",
    type=Number(0, MOST_NOISE),
    metavar="SIGMA",
    help="Also replay with unfair sharing: weights lognormal(0, SIGMA) of transfers.",
)
@click.option(
    "--latency",
    type=Number(0, LONGEST_SECONDS),
    metavar="SECONDS",
    help="Also replay with this time before the bytes of each transfer move.",
)
@click.option(
    "--draws",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help=f"Number of these replays (default {DRAWS}).",
)
@click.option(
    "--actual",
    metavar="JSON",
    help="Instead of noise: actual compute seconds from a file {task: seconds}.",
)
@click.option(
    "--solver",
    type=click.Choice(DISPATCHERS),
    help="Instead of RESULT: let this dispatcher decide while the tasks run.",
)
@set_option(
    "An option of the replay: sources=least-loaded, moves=schedule; for a batch also "
    "room, moves=plan, barriers."
)
@click.option(
    "--prefetch", is_flag=True, help="With --solver: one task may wait on a busy node."
)
@options.output_option(text="Write the replay there as JSON.", json=True)
@options.format_option("table", "json")
def simulate(
    file: str,
    result: str | None,
    link: str | None,
    timeline: str | None,
    sigma: float | None,
    seed: int,
    sharing_noise: float | None,
    latency: float | None,
    draws: int | None,
    actual: str | None,
    solver: str | None,
    prefetch: bool,
    settings: Mapping[str, str],
    output: str | None,
    form: str,
) -> None:
    """Replay the plan of RESULT on FILE and print the metrics of the replay.

    Of a replication plan, only `plan.order` and `plan.eviction` are needed.
    """
    problem = load(file)
    kind = registry.kind_of_problem(problem)
    asked = {
        "--link": link,
        "--actual-noise": sigma,
        "--sharing-noise": sharing_noise,
        "--latency": latency,
        "--draws": draws,
        "--actual": actual,
        "--solver": solver,
        "--set": settings or None,
    }
    given = [name for name, told in asked.items() if told is not None]
    _require_options(given, file, kind)
    if (result is None) == (solver is None):
        raise UsageError(
            "give either the RESULT to replay or a --solver that dispatches tasks"
        )
    how: Json = {"link": link} if link else {}
    how |= _actual(problem, sigma, seed, actual)
    draw = _draws(problem, sharing_noise, latency, draws)
    if result is not None:
        found = _of_result(kind, problem, result, settings, how, draw)
    else:
        run = partial(
            _dispatched,
            problem,
            registry.solver(solver, kind),
            settings,
            prefetch,
            how,
        )
        with reading(file):
            found = _of_dispatcher(kind, problem, run, draw)
    document = {
        "format": "ioopt/simulation",
        "version": 1,
        "instance": problem.name,
        "family": kind.family,
        "kind": kind.kind,
        "metrics": dict(found.simulation.metrics),
        **({} if draw is None else draw.spread(found.makespans)),
        "schedule": plain(found.simulation.schedule),
        **({} if solver is None else {"solver": solver}),
        **found.decided,
    }
    if timeline is not None:
        _write_timeline(found.simulation, timeline)
    if output is not None:
        write_text(output, dump_json(document))
    if output != "-":
        text = dump_json(document) if form == "json" else _table(document)
        click.echo(text, nl=False)


class _Draws(NamedTuple):
    """Replays under noise, and their number."""

    noise: "Noise"
    number: int

    def spread(self, makespans: Sequence[float]) -> Json:
        """Return the key of the document with the spread of *makespans* in seconds."""
        from ioopt.sim.replication.noisy import spread_of

        told = {**asdict(self.noise), "draws": self.number}
        return {"noisy": {**told, **spread_of(makespans)}}


def _draws(
    problem: Any, sharing_noise: float | None, latency: float | None, draws: int | None
) -> _Draws | None:
    """Return the replays under noise that were asked for; None if there are none."""
    # --help loads no simulator.
    from ioopt.sim.replication.noisy import noise_of

    if (sharing_noise, latency, draws) == (None, None, None):
        return None
    return _Draws(noise_of(problem, sharing_noise, latency), draws or DRAWS)


class _Replayed(NamedTuple):
    """A replay, its makespans under noise in seconds, and what was decided, as keys of
    the document.
    """

    simulation: Simulation
    makespans: list[float]
    decided: Json


def _of_result(
    kind: Kind,
    problem: Any,
    result: str,
    settings: Mapping[str, str],
    how: Json,
    draw: _Draws | None,
) -> _Replayed:
    """Replay the plan in the file *result*, also under the noise of *draw* if given."""
    from ioopt.sim.replication.noisy import noisy_makespans

    plan = _plan(kind, problem, result, settings, how)
    makespans: list[float] = []
    with reading(result):
        replayed = replay(problem, plan, **how)
        if draw is not None:
            makespans = noisy_makespans(problem, plan, *draw, **how)
    decided = {"plan": plan.to_dict()} if "moves" in settings else {}
    return _Replayed(replayed, makespans, decided)


def _of_dispatcher(
    kind: Kind,
    problem: Any,
    run: Callable[..., tuple[ReplicationPlan, Simulation]],
    draw: _Draws | None,
) -> _Replayed:
    """Replay the dispatched *run* of *problem*, also under the noise of *draw*."""
    made, dispatched = run()
    replayed = with_bounds(kind, problem, dispatched)
    makespans = []
    if draw is not None:
        for k in range(draw.number):
            _, noisy = run(draw.noise, k + 1)
            makespans.append(float(noisy.metrics["makespan_seconds"]))
    return _Replayed(replayed, makespans, {"plan": made.to_dict()})


def _dispatched(
    problem: Any,
    solver: SolverSpec,
    settings: Mapping[str, str],
    prefetch: bool,
    how: Json,
    noise: "Noise | None" = None,
    draw: int = 0,
) -> tuple[ReplicationPlan, Simulation]:
    """Run *problem* under the dispatcher *solver*; return the plan and its
    simulation.
    """
    from ioopt.sim.replication.dispatch import dispatch

    return dispatch(
        problem,
        solver.make_policy(None),
        prefetch=prefetch,
        options=parse_settings(ReplayOptions, settings, "simulate"),
        noise=noise,
        draw=draw,
        **how,
    )


def _require_options(asked: Iterable[str], file: str, kind: Kind) -> None:
    """Raise UsageError when an option *asked* for does not exist for replays of the
    instance's kind.
    """
    for option in asked:
        if option in kind.replay_options:
            continue
        kinds = registry.KINDS.values()
        able = [row.kind for row in kinds if option in row.replay_options]
        raise UsageError(
            f"{option} belongs to {' and '.join(able)} instances, and {file} is "
            f"{kind.kind}"
        )


def _plan(
    kind: Kind, problem: Any, result: str, settings: Mapping[str, str], how: Json
) -> Any:
    """Return the plan in the file *result*; *settings* switch on options that go beyond
    the rules of replays. With ``moves=schedule`` the plan is bound to its exact replay.
    """
    plan = plan_of(kind, options.read_result(result, kind).get("plan"), result)
    beyond = parse_settings(BatchOptions, settings, "simulate")
    binds = beyond.moves == "schedule"
    rules = [name for name in settings if name != "moves" or not binds]
    otherwise = rules or ("actual" in how and not binds)
    if otherwise and getattr(plan, "dispatches", None) is not None:
        raise UsageError(
            f"{result}: its dispatches were decided on other times or options; use "
            "--solver, or solve with --set mode=replay for a plan of queues"
        )
    if rules and getattr(plan, "bound_moves", None) is not None:
        raise UsageError(
            f"{result}: its plan states all transfers, so --set {rules[0]} changes "
            "nothing; leave it out"
        )
    if settings:
        plan = plan.model_copy(update=beyond.of_plan(settings))
    if binds:
        from ioopt.sim.replication.bind import bind

        with reading(result):
            return bind(problem, plan, how.get("link"))
    return plan


def _actual(problem: Any, sigma: float | None, seed: int, source: str | None) -> Json:
    """Return the keyword of the simulator that replaces compute times; empty if the
    user asked for none.
    """
    from ioopt.sim.replication.simulate import noisy_seconds

    if sigma is None and source is None:
        return {}
    if source is None:
        return {"actual": noisy_seconds(problem, sigma or 0.0, seed)}
    if sigma is not None:
        raise UsageError("give either --actual-noise or --actual")
    times = read_json(source)
    if not isinstance(times, dict) or not all(map(is_number, times.values())):
        raise UsageError(f"{source}: wanted an object {{task: compute seconds}}")
    return {"actual": times}


def _table(document: Json) -> str:
    """Return the metrics as a table with one line for each metric, and the spread of
    noisy replays.
    """
    metrics: Metrics = document["metrics"]
    kind = document["kind"]
    cells = [
        (heading(kind, name), quantity(name, value)) for name, value in metrics.items()
    ]
    for name, value in document.get("noisy", {}).items():
        if name not in NOISE_KEYS:
            cells.append((f"noisy makespan, {name}", quantity("seconds", value)))
    return render(("metric", "value"), cells, width=terminal_width(), wrap=1)


def _write_timeline(replayed: Simulation, target: str) -> None:
    """Write the timeline to *target* in the format of its file extension."""
    if replayed.timeline is None:
        raise UsageError("this kind of instance has no timeline to write")
    ending = Path(target).suffix
    writers = {".json": trace_events_json, ".csv": timeline_csv}
    if ending not in writers:
        raise UsageError(
            f"--timeline {target}: the name must end in .json or .csv, not {ending!r}"
        )
    write_text(target, writers[ending](replayed.timeline))
