"""Reproduce the claims of the papers: ``python scripts/reproduce.py khanna|...|all``.

Every run behind a claim is one row of a store, as in a sweep. A reproduction that was
killed is continued when the same command is given again. For each paper a table is
printed with the claim, its place in the paper, what the paper says, our figure with its
interval, the verdict, and the readings that judge otherwise. The pages are written from
the results of all papers in the store.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAPERS = ("khanna", "zhou", "zhang", "lee")
"""The modules of ``scripts/papers`` that have the claims of a paper."""
PAGE = ROOT / "docs" / "reproduction.md"
EXPLAINED = """\
A store belongs to one state of the code: a run is known by its function, settings and
version, so take another store after a change of a solver. Without --quick the page is
docs/reproduction.md unless --output says otherwise; with --quick a page is written only
where --output says."""


def main() -> None:
    """Reproduce the claims of the papers named on the command line."""
    parser = argparse.ArgumentParser(
        description="Reproduce the papers' claims.", epilog=EXPLAINED
    )
    parser.add_argument("paper", choices=[*PAPERS, "all"])
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes, minutes at most"
    )
    parser.add_argument(
        "--store",
        default="reproduction.sqlite",
        metavar="RUNS.sqlite",
        help="the store of the runs, continued when it exists (%(default)s)",
    )
    parser.add_argument(
        "--output", type=Path, metavar="PAGE.md", help="the page to write"
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="worker processes on this machine (default: number of cores)",
    )
    parser.add_argument(
        "--scheduler", metavar="tcp://...", help="a dask scheduler to use instead"
    )
    arguments = parser.parse_args()
    if arguments.workers < 1:
        parser.error(f"--workers {arguments.workers}: must be 1 or more")
    sys.path[:0] = [str(HERE), str(ROOT)]
    chosen = [arguments.paper]
    if arguments.paper == "all":
        chosen = list(PAPERS)
    page = arguments.output
    if page is None and not arguments.quick:
        page = PAGE

    from ioopt.errors import IooptError

    try:
        _reproduce(chosen, arguments, page)
    except (IooptError, OSError) as error:
        print(f"reproduce.py: {error}", file=sys.stderr)
        raise SystemExit(getattr(error, "exit_code", 2)) from None


def _reproduce(
    papers: list[str], arguments: argparse.Namespace, page: Path | None
) -> None:
    """Compute the claims of *papers* with runs from the store, store the results, and
    write *page* (None: no page).
    """
    from papers.claims import within
    from papers.page import COLUMNS, cells, claims_of, conclusion, counted, write_page

    from ioopt.campaign.study import open_campaign
    from ioopt.tables import render

    size = "quick" if arguments.quick else "full"
    with open_campaign(
        arguments.store, arguments.workers, arguments.scheduler
    ) as campaign:
        for paper in papers:
            begun = time.monotonic()
            study = campaign.study(paper)
            with within(study):
                module = importlib.import_module(f"papers.{paper}")
                found = conclusion(module, arguments.quick, study)
            rows = claims_of(found)
            notes = "\n".join(found["notes"])
            table = render(COLUMNS, cells(rows))
            print(f"\n{found['sizes']}\n\n{table}\n{notes}", flush=True)
            campaign.store.conclude(paper, size, found)
            print(f"\n{paper}: {counted(row for row in rows if row.counted)}")
            print(
                f"{paper}: {len(rows)} claims from {study.num_values} runs "
                f"({study.num_run} of them run now), {study.seconds:.0f} s of "
                f"computing, {time.monotonic() - begun:.0f} s now\n",
                flush=True,
            )
        if page is not None:
            write_page(page, campaign.store.conclusions())
            print(f"written: {page}")


if __name__ == "__main__":
    main()
