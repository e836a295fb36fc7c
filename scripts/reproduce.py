"""What the papers claim and what we measure:
``python scripts/reproduce.py khanna|...|all``.

Every run behind a claim is one row of a store, run as the points of a sweep are; a
killed reproduction goes on from what the store has when the same command is given
again. Each paper's module prints a table: claim, where it stands, the paper's word, our
figure with its interval, the verdict, and the readings that judge otherwise. The pages
are written from what the store holds of all papers.
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
"""Modules of ``scripts/papers`` that have a paper's claims."""
PAGE = ROOT / "docs" / "reproduction.md"
EXPLAINED = """\
A store belongs to one state of the code: runs are keyed by function, settings and version, so after
changing a solver name another store. Without --quick the page is docs/reproduction.md unless
--output says otherwise; with --quick a page is written only where --output says."""


def main() -> None:
    """Reproduce the papers named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=EXPLAINED
    )
    parser.add_argument("paper", choices=[*PAPERS, "all"])
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes, minutes at most"
    )
    parser.add_argument(
        "--store",
        default="reproduction.sqlite",
        metavar="RUNS.sqlite",
        help="where the runs go, and what is there already (%(default)s)",
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
    sys.path[:0] = [str(HERE), str(ROOT)]
    chosen = list(PAPERS) if arguments.paper == "all" else [arguments.paper]
    page = arguments.output or (None if arguments.quick else PAGE)

    from ioopt.errors import IooptError

    try:
        _reproduce(chosen, arguments, page)
    except (IooptError, OSError) as error:
        print(f"reproduce.py: {error}", file=sys.stderr)
        raise SystemExit(getattr(error, "exit_code", 2)) from None


def _reproduce(
    papers: list[str], arguments: argparse.Namespace, page: Path | None
) -> None:
    """Run each paper's module on the store, keep what it came to, write the page."""
    from papers.claims import within
    from papers.page import COLUMNS, cells, claims_of, conclusion, counted, write_page

    from ioopt.campaign.study import open_campaign
    from ioopt.tables import render

    with open_campaign(
        arguments.store, arguments.workers, arguments.scheduler
    ) as campaign:
        for paper in papers:
            begun = time.monotonic()
            study = campaign.study(paper)
            with within(study):
                module = importlib.import_module(f"papers.{paper}")
                found = conclusion(module, arguments.quick, study)
            rows, notes = claims_of(found), "\n".join(found["notes"])
            print(
                f"\n{found['sizes']}\n\n{render(COLUMNS, cells(rows))}\n{notes}",
                flush=True,
            )
            campaign.store.conclude(
                paper, "quick" if arguments.quick else "full", found
            )
            print(f"\n{paper}: {counted(row for row in rows if not row.own)}")
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
