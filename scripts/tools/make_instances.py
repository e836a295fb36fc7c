"""Write the bundled instances and their catalogs.

``python scripts/tools/make_instances.py [--solve SECONDS] [FAMILY ...]``

An instance's best objective and bound are kept from the present catalog while its content stays the
same. ``--solve`` runs the exact solver on those that are not proven yet and records what it found.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from ioopt.formats.native import dump_json, read_json, write_text  # noqa: E402
from ioopt.solving import problem_from_dict  # noqa: E402


@dataclass(frozen=True)
class Entry:
    """One bundled instance: its content, and what is known about it and why.

    ``best`` and ``bound`` are for ``objective``; None where nothing is known yet. ``solver`` is what
    ``--solve`` runs.
    """

    instance: dict[str, Any]
    why: str
    source: str
    objective: str
    best: float | None = None
    bound: float | None = None
    who: str | None = None
    solver: str | None = None

    @property
    def name(self) -> str:
        """The name under which the instance is found."""
        return str(self.instance["name"])


def _small(
    name: str,
    nodes: list[dict[str, Any]],
    files: dict[str, float],
    tasks: dict[str, tuple[float, list[str]]],
) -> dict[str, Any]:
    """A hand-sized replication instance; *files* in MB, *tasks* as (seconds, inputs)."""
    return {
        "format": "ioopt/replication",
        "version": 1,
        "name": name,
        "network": {
            "remote_bytes_per_second": 12.5e6,
            "replica_bytes_per_second": 1e9,
            "remote_link": "shared",
        },
        "nodes": nodes,
        "files": [{"id": key, "bytes": round(size * 1e6)} for key, size in files.items()],
        "tasks": [
            {"id": key, "compute_seconds": seconds, "inputs": inputs}
            for key, (seconds, inputs) in tasks.items()
        ],
    }


def _nodes(count: int, disk: int | None = None) -> list[dict[str, Any]]:
    return [{"id": f"n{i}", "disk_bytes": disk} for i in range(count)]


def _hand_solved() -> Iterable[Entry]:
    """Instances whose optimum of equation (13) follows by hand; 80 ms/MB remote, 1 ms/MB a copy."""
    one = {f"t{k}": (1.5, ["f0"]) for k in range(6)}
    yield _by_hand(
        _small("cycle3", _nodes(3), {"f0": 64}, one), 5.184,
        "Fetching f0 takes 5.12 s and a copy 0.064 s at both ends. The root runs no task and sends "
        "once (5.12 + 0.064 = 5.184); the second node forwards (2 x 0.064 + 3 x 1.5 = 4.628); the "
        "third gets 4.564. Less is impossible: one node fetches, and if it sends nothing all 9 s of "
        "computing are its own. With cycles allowed two nodes feed each other: 5.12 s.",
    )  # fmt: skip
    yield _by_hand(
        _small("idle-root", _nodes(2), {"f0": 100}, {f"t{k}": (5.0, ["f0"]) for k in range(2)}),
        10.1,
        "Fetching takes 8 s. Both tasks on the other node: 8 + 0.1 and 0.1 + 10 = 10.1. One task "
        "each: 8 + 0.1 + 5 = 13.1, or 8 + 5 = 13 with two fetches. One node alone: 18.",
    )
    yield _by_hand(
        _small(
            "two-pairs", _nodes(2, 64_000_000), {"f0": 64, "f1": 64},
            {"t0": (1.0, ["f0"]), "t1": (1.0, ["f0"]), "t2": (1.0, ["f1"]), "t3": (1.0, ["f1"])},
        ), 7.12,
        "A disk holds one file, so in one round each node takes one file and its two tasks: "
        "5.12 + 2 = 7.12, which is also the area bound (2 x 5.12 + 4) / 2.",
    )  # fmt: skip
    held = _nodes(2)
    held[0]["holds"] = ["f0"]
    yield _by_hand(
        _small("held", held, {"f0": 64}, {"t0": (1.0, ["f0"]), "t1": (1.0, ["f0"])}),
        1.064,
        "n0 holds f0 from the start, so nothing is fetched. One task each and one copy, charged at "
        "both ends: 1 + 0.064. Both on n0: 2.",
    )
    yield _by_hand(
        _small(
            "rounds4", _nodes(2, 128_000_000), {f"f{k}": 64 for k in range(8)},
            {f"t{k}": (0.128, [f"f{2 * k}", f"f{2 * k + 1}"]) for k in range(4)},
        ), 41.216,
        "Every task fills a disk: four tasks on two disks need two rounds, so one round is proven "
        "infeasible. In simulation both nodes share the link: 2 x 128 MB in 20.48 s, 0.128 s of "
        "computing with the link idle, and the same again: 41.216 s.",
        "makespan_seconds",
    )  # fmt: skip


def _by_hand(
    instance: dict[str, Any], best: float, why: str, objective: str = "additive_seconds"
) -> Entry:
    return Entry(instance, why, "hand-made", objective, best, best, "by hand")


def _generated() -> Iterable[Entry]:
    """One instance of each application of the paper, and one of its full size under a disk limit."""
    from ioopt.generate.replication.generate import generate

    wanted: list[tuple[str, str, dict[str, Any]]] = [
        ("image-16x3", "image-85", {"tasks": 16, "nodes": 3, "disk": None, "overlap": 0.7}),
        ("sat-16x3", "sat-85", {"tasks": 16, "nodes": 3, "disk": None}),
        ("ppa-60x4", "ppa", {"tasks": 60, "nodes": 4, "disk": None}),
        ("image-100x4", "image-85", {}),
    ]
    for name, preset, settings in wanted:
        limited = "disk" not in settings
        problem = generate(preset, settings, 1)
        instance = problem.model_dump(mode="json", exclude_defaults=True) | {
            "format": "ioopt/replication", "version": 1, "name": name,
        }  # fmt: skip
        order = ("format", "version", "name", "meta", "network", "nodes", "files", "tasks")
        meta = instance["meta"]
        changed = ", ".join(f"{key}={value}" for key, value in settings.items()) or "as it is"
        yield Entry(
            {key: instance[key] for key in order},
            f"preset {preset}, {changed}; overlap A {meta['overlap_a']}, B {meta['overlap_b']}",
            "generated: Khanna et al., Section 5.1, seed 1",
            "makespan_seconds" if limited else "additive_seconds",
            solver="link-aware" if limited else "ip",
        )


def replication() -> list[Entry]:
    """Entries of the replication family."""
    return [*_hand_solved(), *_generated()]


def _plain(problem: Any, name: str) -> dict[str, Any]:
    """An instance as written: format and version first, top-level defaults left out."""
    full = problem.model_dump(mode="json", exclude_none=True, by_alias=True)
    fields = type(problem).model_fields
    chosen = [key for key, field in fields.items() if getattr(problem, key) != field.default]
    content = {key: full.get(key) for key in chosen}
    return {"format": problem.format, "version": 1, "name": name} | content | {"name": name}


def _flexgang_measured() -> Iterable[Entry]:
    """Lee et al., features F1 to F3: sweeps, perturbations, message counts."""
    from ioopt.generate.flexgang import message_counts, perturbation, quantum_model

    for figure in ("figure-2", "figure-3"):
        yield Entry(
            _plain(quantum_model.generate(figure, {}, 0), f"quantum-{figure}"),
            "the sweep of the figure, 1 to 40 ms; the objective is the mean slowdown of its points",
            f"Lee et al., {figure.replace('-', ' ').capitalize()}", "slowdown",
        )  # fmt: skip
    ties = quantum_model.generate("point", {"burst_shape": None}, 0)
    points = [(10, 20), (2.5, 10), (40, 10), (12, 10), (20, 20)]
    ties = type(ties).model_validate(
        ties.model_dump()
        | {"points": [{"qi_seconds": qi / 1000, "qc_seconds": qc / 1000} for qi, qc in points]}
    )
    yield Entry(
        _plain(ties, "quantum-ties"),
        "Bursts of exactly 5 ms, so that ends fall together with slot ends: slowdowns 1.2, 1.5, 1, "
        "1.1 and 1.6, mean 1.28. Only solver event takes it.",
        "hand-made", "slowdown", 1.28, 1.28, "by hand",
    )  # fmt: skip
    for preset in ("table-1", "blocking"):
        yield Entry(
            _plain(perturbation.generate(preset, {}, 0), f"perturbation-{preset}"),
            "the synthetic applications of Table 1" if preset == "table-1"
            else "blocking requests at the rates of LU, Water and Barnes (Table 2), and 1",
            "Lee et al., Section 4", "mean_gamma_sub",
        )  # fmt: skip
    yield Entry(
        _plain(message_counts.generate("table-3", {}, 0), "gangedness-table-3"),
        "Means only: Enum and LU are LOW, Water and Barnes HIGH, none UNKNOWN.",
        "Lee et al., Table 3", "unknown_applications", 0.0, 0.0, "by hand",
    )  # fmt: skip
    wanted = {"perturbations": "16", "work_quanta": "96", "requests_per_quantum": "3,28",
              "phase_quanta": "20"}  # fmt: skip
    yield Entry(
        _plain(message_counts.generate("laboratory", wanted, 1), "gangedness-laboratory"),
        "16 disturbed quanta of two blocking applications, a barrier and messages in long phases",
        "generated: perturbation laboratory, seed 1", "unknown_applications",
    )  # fmt: skip


def _flexgang_assigned() -> Iterable[Entry]:
    """Features F4 to F6: quantum selection and flexible gang assignment."""
    from ioopt.generate.flexgang import flexible_gang, quantum_selection
    from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem

    surface = [(10, 30, 2.0, 0.1), (20, 20, 1.5, 0.15), (30, 10, 1.2, 0.18), (10, 10, 1.25, 0.16)]
    tiny = FlexibleGangProblem.model_validate(
        {
            "name": "flexgang-tiny", "lambda": 0.5,
            "machine": {"processors": 4, "quantum_seconds": 0.010, "rows": 4},
            "jobs": [
                {"id": "strict", "kind": "compute", "processes": 4, "gamma": 1.0, "phi": 0.25},
                {"id": "loose", "kind": "compute", "processes": 4, "gamma": 0.4, "phi": 0.05},
                {"id": "io", "kind": "io", "processes": 4},
            ],
            "surface": [
                {"on_seconds": on / 1000, "off_seconds": off / 1000, "slowdown": s, "beta": beta}
                for on, off, s, beta in surface
            ],
        }
    )  # fmt: skip
    yield Entry(
        _tidy(tiny, "flexgang-tiny"),
        "Two loose slots in two windows: two strict rows are .5, the loose job gets 20 - .16 * 40 = "
        "13.6 ms, .6 * 13.6 / 40 = .204, and the I/O costs .5 * .25: .579. The other patterns: .34 "
        "(k = 0 and 1), .46 (one window) and .492 (k = 3).",
        "hand-made", "weighted_progress", 0.579, 0.579, "by hand",
    )  # fmt: skip
    for preset in ("heavy-mix", "heavy-20", "heavy-40"):
        yield Entry(
            _tidy(flexible_gang.generate(preset, {}, 1), f"flexgang-{preset}"),
            "32 processors, q = 10 ms, lambda = .1, two jobs in five do I/O; the best model "
            "objective (ranking by simulation may prefer another plan)",
            "generated: assumptions in ioopt.generate.flexgang.flexible_gang, seed 1", "weighted_progress",
            solver="exact",
        )  # fmt: skip
    for preset in ("plain", "visits", "mixed"):
        yield Entry(
            _tidy(quantum_selection.generate(preset, {}, 1), f"quantum-{preset}"),
            "quanta of Figure 2 as the menu; compute jobs share 40 % of the cycle at least",
            "generated: ioopt.generate.flexgang.quantum_selection, seed 1", "predicted_cost",
            solver="quantum-dp",
        )  # fmt: skip


def _tidy(problem: Any, name: str) -> dict[str, Any]:
    """:func:`_plain` with defaults left out at every depth."""
    full = problem.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    content = {key: value for key, value in full.items() if key != "name"}
    return {"format": problem.format, "version": 1, "name": name} | content


def flexgang() -> list[Entry]:
    """Entries of the flexgang family."""
    return [*_flexgang_measured(), *_flexgang_assigned()]


def batch_io() -> list[Entry]:
    """Entries of the batch-io family: a pair to work out by hand, and seeded workloads."""
    from ioopt.generate.batch_io.generate import generate

    machine = {
        "nodes": 8, "unit_nodes": 1, "allocation": "flat",
        "node_bytes_per_second": 1e9, "storage_bytes_per_second": 4e9,
    }  # fmt: skip
    job = {"submit_seconds": 0.0, "nodes": 4, "walltime_seconds": 60.0,
           "phases": [{"compute_seconds": 0.0, "io_bytes": 8e9}]}  # fmt: skip
    request = {"nodes": 4, "request_seconds": 0.0, "left_bytes": 8e9, "start_seconds": 0.0}
    pair = {"format": "ioopt/batch-io", "version": 1, "name": "two-writers", "machine": machine,
            "jobs": [{"id": key, **job} for key in "AB"]}  # fmt: skip
    now = {"format": "ioopt/io-requests", "version": 1, "name": "two-writers-now",
           "machine": machine, "now_seconds": 0.0,
           "requests": [{"id": key, **request} for key in "AB"]}  # fmt: skip
    entries = [
        Entry(
            pair, "Two jobs write 8 GB each to storage of 4 GB/s: sharing ends both at 4 s, one "
            "after the other at 2 and 4 s, mean 3, and none can end before 2 s or both before 4 s.",
            "hand-made", "mean_response_seconds", 3.0, 3.0, "by hand",
        ),
        Entry(
            now, "The same as one decision: 4 GB/s is all there is to grant.",
            "hand-made", "granted_bytes_per_second", 4e9, 4e9, "by hand",
        ),
    ]  # fmt: skip
    wanted: list[tuple[str, str, dict[str, Any]]] = [
        ("mira-day", "mira-month", {"jobs": 100, "days": 1}),
        ("io-sets-12", "io-sets", {"high": 4, "medium": 4, "low": 4, "horizon_seconds": 4000}),
        ("small-8", "small", {}),
    ]
    for name, preset, settings in wanted:
        changed = ", ".join(f"{key}={value}" for key, value in settings.items()) or "as it is"
        entries.append(
            Entry(
                _plain(generate(preset, settings, 1), name), f"preset {preset}, {changed}",
                f"ioopt generate batch-io --preset {preset}, seed 1", "mean_response_seconds",
            )
        )  # fmt: skip
    return entries


def gang() -> list[Entry]:
    """Entries of the gang family."""
    from tools.instances_gang import instances

    return [Entry(*row) for row in instances()]


FAMILIES: dict[str, Callable[[], list[Entry]]] = {
    "batch_io": batch_io,
    "flexgang": flexgang,
    "gang": gang,
    "replication": replication,
}
"""Family folder -> its entries; a new family adds one line."""


def write_family(family: str, solve_seconds: float | None) -> None:
    """Write the instances of *family* and its catalog."""
    folder = ROOT / "instances" / family
    folder.mkdir(parents=True, exist_ok=True)
    catalog = folder / "catalog.json"
    known = {}
    if catalog.exists():
        known = {row["name"]: row for row in json.loads(catalog.read_text("utf-8"))["instances"]}
    rows = []
    for entry in FAMILIES[family]():
        path = folder / f"{entry.name}.json"
        same = path.exists() and _content(read_json(path)) == _content(entry.instance)
        write_text(path, dump_json(entry.instance))
        row = _row(entry, path.name)
        if entry.best is None and same and entry.name in known:
            row |= {key: known[entry.name][key] for key in ("best_objective", "bound", "who")}
        if solve_seconds is not None and entry.solver and row["best_objective"] is None:
            row |= _solved(path, entry, solve_seconds)
        rows.append(row)
        print(f"{family}/{path.name}: best {row['best_objective']}, bound {row['bound']}")
    write_text(catalog, dump_json({"instances": rows}))


def _content(document: dict[str, Any]) -> Any:
    """What an answer depends on: the problem without ``meta``."""
    return problem_from_dict(document, "instance").model_copy(update={"meta": {}})


def _row(entry: Entry, file: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "file": file,
        "kind": str(entry.instance["format"]).removeprefix("ioopt/"),
        "source": entry.source,
        "objective": entry.objective,
        "best_objective": entry.best,
        "bound": entry.bound,
        "who": entry.who,
        "why": entry.why,
    }


def _solved(path: Path, entry: Entry, seconds: float) -> dict[str, Any]:
    import ioopt

    result = ioopt.solve(path, entry.solver, time_limit=seconds)
    if result.objective is None or result.objective_name != entry.objective:
        print(f"{entry.name}: {entry.solver} gave no {entry.objective}: {result.notes}")
        return {}
    return {
        "best_objective": result.objective,
        "bound": result.bound,
        "who": f"ioopt {result.solver}, {seconds:g} s, {result.status.value}",
    }


def main() -> None:
    """Write the families named on the command line, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", default=sorted(FAMILIES))
    parser.add_argument("--solve", type=float, metavar="SECONDS", default=None)
    given = parser.parse_args()
    for family in given.families:
        if family not in FAMILIES:
            parser.error(f"no family {family!r}; known: {', '.join(FAMILIES)}")
        write_family(family, given.solve)


if __name__ == "__main__":
    main()
