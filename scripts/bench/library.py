"""Find better plans for the library: ``library.py SECONDS [--seeds N] [NAME...]``.

Every solver of an entry gets SECONDS; those that search run with N seeds. Better plans
and tighter bounds are kept in ``instances/library``. To add an instance, put a file
into that folder with an empty plan and a value worse than that of any plan. With
``--table`` the tables of ``docs/library.md`` are written instead; CP-SAT and HiGHS get
SECONDS for each program that `ioopt export mps` writes. The sweeps ``library`` and
``library-additive`` show how far default solvers are from the best known plans.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[1:3]]

from tools.library import submit, write

import ioopt
from bench.frame import ROOT
from ioopt import registry
from ioopt.errors import IooptError, UsageError
from ioopt.exchange import export_model
from ioopt.families import ANYTIME, REFERENCE
from ioopt.library import Entry, entries
from ioopt.result import relative_gap
from ioopt.tables import render
from ioopt.verdict import own_bound, past_bound

PAGE = ROOT / "docs" / "library.md"
MARK = "<!-- table -->\n"
"""The text in the page that stands before and after the tables."""
HEAD = ("entry", "value", "bound", "gap %")
CLOSED = 1e-6
"""Largest relative gap at which an entry is closed."""
PLAIN = {"sat": "CP-SAT", "highs": "HiGHS"}


def improve(known: Entry, seconds: float, seeds: int) -> Entry:
    """Return *known* with the best plan and bound of all solvers.

    Variants and reference solvers are not run.
    """
    entry, problem = known, known.problem()
    for spec in registry.solvers_for(entry.kind):
        if spec.variant_of is None and REFERENCE not in spec.abilities:
            for seed in range(seeds if ANYTIME in spec.abilities else 1):
                if entry.plan and closed(entry):
                    return entry
                with suppress(IooptError):  # The solver does not apply to the instance.
                    result = ioopt.solve(
                        problem, spec.name, time_limit=seconds, seed=seed
                    )
                    entry = _with(entry, result)
    return entry


def gap_of(entry: Entry) -> float | None:
    """Return the relative gap between the best value and the bound of *entry*."""
    return relative_gap(entry.best.best, entry.best.bound, entry.sense)


def closed(entry: Entry) -> bool:
    """Return whether the bound of *entry* proves its value."""
    gap = gap_of(entry)
    return gap is not None and gap <= CLOSED


def row(entry: Entry) -> list[str]:
    """Return the line of *entry* in its table, without the columns of CP-SAT and
    HiGHS.
    """
    best = entry.best
    gap = gap_of(entry)
    percent = None
    if closed(entry):
        percent = 0.0
    elif gap is not None:
        percent = max(round(100 * gap, 2), 0.01)  # 0 is for closed entries alone.
    values = [best.best, best.bound, percent]
    shown = ["-" if value is None else f"{value:.6g}" for value in values]
    return [entry.name, *shown]


def heading(entry: Entry) -> str:
    """Return the heading of the table that holds *entry*."""
    return f"### {entry.kind}: {entry.measure}"


def plain(entry: Entry, seconds: float) -> list[str]:
    """Return, for CP-SAT and for HiGHS, the value and the bound found for the exported
    program, as text.

    For gangs, the program is that of the pattern of the stored plan. The list is empty
    for an entry whose measure has no program.
    """
    pattern = {key: str(entry.plan[key]) for key in ("k", "d") if key in entry.plan}
    settings = {"cycles": "acyclic"} if entry.measure == "additive_seconds" else pattern
    if not settings and entry.kind != "quantum-selection":
        return []
    from ortools.linear_solver.python import model_builder

    found = []
    with tempfile.TemporaryDirectory() as folder:
        export_model(entry.problem(), path := f"{folder}/model.mps", "mps", settings)
        for name in PLAIN:
            model, solver = model_builder.Model(), model_builder.Solver(name)
            model.import_from_mps_file(path)
            solver.set_time_limit_in_seconds(seconds)
            if name == "sat":  # Otherwise a real value would count as a whole number.
                solver.set_solver_specific_parameters("mip_var_scaling:10000")
            status = solver.solve(model).name
            values = f"{solver.objective_value:.6g} ({solver.best_objective_bound:.6g})"
            found.append(values if status in ("OPTIMAL", "FEASIBLE") else "none")
    return found


def table(seconds: float) -> None:
    """Write a table for each kind and measure into the page, between its marks."""
    groups: dict[str, list[list[str]]] = {}
    for entry in entries().values():
        cells = [*row(entry), *plain(entry, seconds)]
        groups.setdefault(heading(entry), []).append(cells)
    made = ""
    for title, rows in sorted(groups.items()):
        headers = [*HEAD, *PLAIN.values()][: len(rows[0])]
        made += f"\n{title}\n\n{render(headers, sorted(rows), 'markdown')}"
    before, _, after = PAGE.read_text("utf-8").split(MARK)
    PAGE.write_text(f"{before}{MARK}{made}\n{MARK}{after}", "utf-8")


def main() -> None:
    """Search, entry by entry, or write the table."""
    parser = argparse.ArgumentParser(prog="library.py", description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("name", nargs="*", help="of entries; none: all")
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_intermixed_args()
    if given.table:
        return table(given.seconds)
    for name, known in entries().items():
        if not given.name or name in given.name:
            try:
                entry = improve(known, given.seconds, given.seeds)
            except UsageError as error:  # The entry needs a file that is not shipped.
                print(f"{name}: {error}", file=sys.stderr)
                continue
            if entry.plan and entry != known:
                write(entry)
            print(f"{known.best.best:.6g} ->", *row(entry), flush=True)


def _with(entry: Entry, result: Any) -> Entry:
    """Return *entry* with the improvements of *result*: plan and value, bound."""
    with suppress(UsageError):  # The result is not better.
        changed, wrong = submit(entry, result.model_dump(mode="json"), result.solver)
        if wrong:
            print(f"  {entry.name}: {result.solver}: {wrong[:1]}", file=sys.stderr)
        kept = changed.history[0 if entry.plan or wrong else 1 :]
        entry = changed.model_copy(update={"history": kept})
    bound = own_bound(
        result.summary(), registry.KINDS[entry.kind].metric(entry.measure)
    )
    old = entry.best.bound
    if bound is None or past_bound(entry.sense, entry.best.best, bound) is not None:
        return entry
    if old is None or (bound > old if entry.sense == "min" else bound < old):
        best = entry.best.model_copy(update={"bound": bound})
        entry = entry.model_copy(update={"history": (*entry.history[:-1], best)})
    return entry


if __name__ == "__main__":
    main()
