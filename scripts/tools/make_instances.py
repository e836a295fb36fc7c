"""Regenerate the bundled instances: their files, and their rows of the catalog.

``python scripts/tools/make_instances.py [--solve SECONDS] [FAMILY ...]``

An instance is generated if its row of the catalog has ``made``: the preset, its
settings and the seed. ``made`` can also name the solver that ``--solve`` runs if the
row has no best objective yet. The objective and the bound stay in the catalog as long
as the content of the instance is the same. The files of all other instances are edited
by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import ioopt  # noqa: E402
from ioopt.formats.native import dump_json, read_json, write_text  # noqa: E402
from ioopt.loading import problem_from_dict  # noqa: E402
from ioopt.problems.base import Problem  # noqa: E402
from ioopt.registry import FORMATS, generate  # noqa: E402

FAMILIES = sorted(
    path.parent.name for path in (ROOT / "instances").glob("*/catalog.json")
)


def refresh(family: str, solve_seconds: float | None) -> None:
    """Write the generated instances of *family* that have changed, and the catalog of
    the family.

    If *solve_seconds* is given, instances without a best objective are also solved,
    within this time each.
    """
    folder = ROOT / "instances" / family
    rows = json.loads((folder / "catalog.json").read_text("utf-8"))["instances"]
    for row in rows:
        if "made" not in row:
            continue
        made = row["made"]
        settings = made.get("settings", {})
        path = folder / row["file"]
        problem = generate(FORMATS[row["kind"]], made["preset"], settings, made["seed"])
        problem = problem.model_copy(update={"name": row["name"]})
        if not path.exists() or not _same(read_json(path), problem):
            head = {"format": problem.format, "version": 1, "name": row["name"]}
            content = problem.model_dump(
                mode="json", exclude_defaults=True, by_alias=True
            )
            write_text(path, dump_json(head | content))
            row |= dict.fromkeys({"best_objective", "bound", "who"} & row.keys())
        if (
            solve_seconds is not None
            and "solver" in made
            and row["best_objective"] is None
        ):
            row |= _solved(path, made["solver"], row["objective"], solve_seconds)
        print(
            f"{family}/{path.name}: best {row.get('best_objective')}, bound "
            f"{row.get('bound')}"
        )
    write_text(folder / "catalog.json", dump_json({"instances": rows}))


def _same(document: dict[str, Any], problem: Problem) -> bool:
    """Return whether *document* and *problem* are the same instance, apart from
    ``meta``.
    """
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
    """Regenerate the families named on the command line, or all families."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES)
    )
    parser.add_argument("--solve", type=float, metavar="SECONDS", default=None)
    given = parser.parse_args()
    if unknown := set(given.families) - set(FAMILIES):
        parser.error(
            f"no family {', '.join(sorted(unknown))}; known: {', '.join(FAMILIES)}"
        )
    for family in given.families or FAMILIES:
        refresh(family, given.solve)


if __name__ == "__main__":
    main()
