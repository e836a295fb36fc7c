"""Make the generated ones of the bundled instances again: their files and catalog rows.

``python scripts/tools/make_instances.py [--solve SECONDS] [FAMILY ...]``

A hand-made instance is its own source: its file and its row of the catalog are edited there. A
generated one needs a row with why, source and objective, and a recipe here. Its best objective and
bound are kept while its content stays the same; ``--solve`` runs the recipe's solver on those that
have none yet and records what it found.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import ioopt  # noqa: E402
from ioopt.decisions.gang.state import Gang, State, Timing, gangs_of  # noqa: E402
from ioopt.formats.native import dump_json, read_json, write_text  # noqa: E402
from ioopt.problems.gang import GangMatrixProblem, nodes_of  # noqa: E402
from ioopt.registry import KINDS, generate  # noqa: E402
from ioopt.sim.gang.simulate import GangSimulation  # noqa: E402
from ioopt.solvers.gang.gs import POLICY as GS  # noqa: E402
from ioopt.solving import problem_from_dict  # noqa: E402

LABORATORY = {"perturbations": "16", "work_quanta": "96", "requests_per_quantum": "3,28",
              "phase_quanta": "20"}  # fmt: skip


class Recipe(NamedTuple):
    """A preset of a *kind*, or a function; ``solver`` is what ``--solve`` runs."""

    family: str
    name: str
    kind: str
    preset: str | Callable[[], Any]
    settings: Mapping[str, Any] = MappingProxyType({})
    seed: int = 1
    solver: str | None = None

    def problem(self) -> Any:
        """The instance."""
        if callable(self.preset):
            return self.preset()
        found = generate(KINDS[self.kind], self.preset, self.settings, self.seed)
        return found.model_copy(update={"name": self.name})


def crowded_matrix() -> GangMatrixProblem:
    """The state of gang-crowded-300 after the update of GS that leaves most jobs waiting."""
    problem = ioopt.load("gang-crowded-300")
    longest, taken = -1, {}

    def observe(now: Any, index: int, state: State, gone: tuple[int, ...]) -> None:
        nonlocal longest, taken
        waiting = len(state.waiting) - len(state.admitted)
        if waiting > longest:
            longest, taken = waiting, _decision(state, now)

    timing = Timing.of(problem.machine)
    GangSimulation(gangs_of(problem), timing, GS, observer=observe).run()
    machine = problem.machine.model_dump(mode="json")
    return GangMatrixProblem.model_validate(
        {"name": "gang-crowded-now", "machine": machine, **taken}
    )


def _decision(state: State, now: float) -> dict[str, Any]:
    """*state* at *now* as the parts of a gang-matrix instance."""
    started = {job.key for job in state.admitted}
    running = []
    for job, columns, home in zip(state.jobs, state.columns, state.homes):
        length = job.local if columns == job.files else job.remote
        need = length if job.key in started else state.clock.need[job.key]
        running.append({
            **_job(job), "columns": list(nodes_of(columns)), "home_row": home,
            "remaining_fraction": min(1.0, round(float(need / length), 6)),
            "attained_seconds": round(float(state.clock.attained[job.key]), 3),
        })  # fmt: skip
    waiting = [
        {**_job(job), "arrival_seconds": job.arrival}
        for job in state.waiting
        if job.key not in started
    ]
    return {"now_seconds": float(now), "running": running, "waiting": waiting,
            "migration_tasks_left": 64}  # fmt: skip


def _job(job: Gang) -> dict[str, Any]:
    return {"id": job.key, "file_nodes": list(nodes_of(job.files)),
            "local_seconds": job.local, "remote_seconds": job.remote}  # fmt: skip


RECIPES = (
    Recipe("replication", "image-16x3", "replication", "image-85",
           {"tasks": 16, "nodes": 3, "disk": None, "overlap": 0.7}, solver="ip"),
    Recipe("replication", "sat-16x3", "replication", "sat-85",
           {"tasks": 16, "nodes": 3, "disk": None}, solver="ip"),
    Recipe("replication", "ppa-60x4", "replication", "ppa",
           {"tasks": 60, "nodes": 4, "disk": None}, solver="ip"),
    Recipe("replication", "image-100x4", "replication", "image-85", solver="link-aware"),
    Recipe("replication", "flow-chains", "replication", "chains",
           {"chains": 6, "length": 5, "disk_share": 1.5}, solver="locality"),
    Recipe("replication", "flow-fork-join", "replication", "fork-join",
           {"rounds": 2, "width": 8, "task_cores": 3, "disk_share": 1.5}, solver="heft"),
    Recipe("replication", "flow-in-tree", "replication", "in-tree",
           {"leaves": 24, "arity": 3, "disk_share": 1.5}, solver="locality"),
    Recipe("replication", "flow-montage", "replication", "montage-like",
           {"images": 10}, solver="ready-min-min"),
    Recipe("replication", "flow-groups", "replication", "many-small-groups",
           {"groups": 16, "disk_share": 1.5}, solver="locality"),
    Recipe("replication", "flow-arrivals", "replication", "many-small-groups",
           {"groups": 12, "every_seconds": 20.0, "disk_share": 2.0}, solver="b-level"),
    Recipe("flexgang", "quantum-figure-2", "quantum-model", "figure-2", seed=0),
    Recipe("flexgang", "quantum-figure-3", "quantum-model", "figure-3", seed=0),
    Recipe("flexgang", "perturbation-table-1", "perturbation", "table-1", seed=0),
    Recipe("flexgang", "perturbation-blocking", "perturbation", "blocking", seed=0),
    Recipe("flexgang", "gangedness-table-3", "message-counts", "table-3", seed=0),
    Recipe("flexgang", "gangedness-laboratory", "message-counts", "laboratory", LABORATORY),
    *(
        Recipe("flexgang", f"flexgang-{preset}", "flexible-gang", preset, solver="exact")
        for preset in ("heavy-mix", "heavy-20", "heavy-40")
    ),
    *(
        Recipe("flexgang", f"quantum-{preset}", "quantum-selection", preset, solver="quantum-dp")
        for preset in ("plain", "visits", "mixed")
    ),
    Recipe("batch_io", "mira-day", "batch-io", "mira-month", {"jobs": 100, "days": 1}),
    Recipe("batch_io", "io-sets-12", "batch-io", "io-sets",
           {"high": 4, "medium": 4, "low": 4, "horizon_seconds": 4000}),
    Recipe("batch_io", "small-8", "batch-io", "small"),
    Recipe("gang", "gang-mixed-60", "gang", "blue-pacific-like",
           {"jobs": 60, "intensity": "mixed"}),
    Recipe("gang", "gang-crowded-300", "gang", "blue-pacific-like",
           {"jobs": 300, "mean_local_seconds": 3102}),
    Recipe("gang", "gang-crowded-now", "gang-matrix", crowded_matrix),
)  # fmt: skip
FAMILIES = sorted({recipe.family for recipe in RECIPES})


def refresh(family: str, solve_seconds: float | None) -> None:
    """Write what has changed of the generated instances of *family*, and its catalog."""
    folder = ROOT / "instances" / family
    rows = json.loads((folder / "catalog.json").read_text("utf-8"))["instances"]
    by_name = {row["name"]: row for row in rows}
    for recipe in (recipe for recipe in RECIPES if recipe.family == family):
        row = by_name.get(recipe.name)
        if row is None:
            raise SystemExit(f"{recipe.name}: write its row into {folder / 'catalog.json'} first")
        path, problem = folder / row["file"], recipe.problem()
        if not path.exists() or not _same(read_json(path), problem):
            head = {"format": problem.format, "version": 1, "name": recipe.name}
            content = problem.model_dump(mode="json", exclude_defaults=True, by_alias=True)
            write_text(path, dump_json(head | content))
            row |= {"best_objective": None, "bound": None, "who": None}
        if solve_seconds is not None and recipe.solver and row["best_objective"] is None:
            row |= _solved(path, recipe.solver, row["objective"], solve_seconds)
        print(f"{family}/{path.name}: best {row['best_objective']}, bound {row['bound']}")
    write_text(folder / "catalog.json", dump_json({"instances": rows}))


def _same(document: dict[str, Any], problem: Any) -> bool:
    """Whether the file holds what an answer depends on: the problem without ``meta``."""
    none = {"meta": None}
    held = problem_from_dict(document, "instance").model_copy(update=none)
    return bool(held == problem.model_copy(update=none))


def _solved(path: Path, solver: str, objective: str, seconds: float) -> dict[str, Any]:
    result = ioopt.solve(path, solver, time_limit=seconds)
    if result.objective is None or result.objective_name != objective:
        print(f"{path.stem}: {solver} gave no {objective}: {result.notes}")
        return {}
    return {
        "best_objective": result.objective,
        "bound": result.bound,
        "who": f"ioopt {result.solver}, {seconds:g} s, {result.status.value}",
    }


def main() -> None:
    """Make the families named on the command line, or all of them, again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", default=FAMILIES, metavar="FAMILY")
    parser.add_argument("--solve", type=float, metavar="SECONDS", default=None)
    given = parser.parse_args()
    for family in given.families:
        if family not in FAMILIES:
            parser.error(f"no family {family!r}; known: {', '.join(FAMILIES)}")
        refresh(family, given.solve)


if __name__ == "__main__":
    main()
