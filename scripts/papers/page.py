"""The page of the reproduction, written from what the studies in a store came to."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from papers.claims import NOT, PARTLY, REPRODUCED

from ioopt.campaign.study import Study
from ioopt.tables import render
from ioopt.version import __version__

TITLES = {
    "khanna": "Khanna et al.: replication",
    "khanna-readings": "Khanna et al.: what the paper leaves open",
    "lee": "Lee et al.: flexible gangs",
    "zhang": "Zhang et al.: gangs",
    "zhang-calm": "Zhang et al.: another calibration",
    "zhou": "Zhou et al.: batch I/O",
}
WORDS = (REPRODUCED, PARTLY, NOT)
PACKAGES = ("ioopt", "ortools", "pulp", "numba", "numpy")
HEAD = """# What of the papers is reproduced

Written by `python scripts/reproduce.py all`. Every run behind a claim is one row of a
[campaign's](campaigns.md) store; figures, intervals and verdicts are computed from the rows. The
rule by which a claim counts as reproduced stands in `scripts/papers/<paper>.toml`; a claim that does
not hold is listed as such, with its figure.
"""
CLAIM_HEAD = ("claim", "where", "the paper's word", "ours", "verdict")
ABSENT = "not installed"

Conclusion = Mapping[str, Any]


def conclusion(module: ModuleType, quick: bool, study: Study) -> dict[str, Any]:
    """What a study came to, as the store keeps it: claims, notes, pictures, sizes, seconds, versions."""
    rows = module.claims(quick)
    pictures = {
        name: {"caption": caption, "svg": _svg(axes.figure)}
        for name, caption, axes in getattr(module, "pictures", lambda _: ())(quick)
    }
    return {
        "claims": rows, "pictures": pictures, "head": getattr(module, "HEAD", CLAIM_HEAD),
        "notes": list(module.notes(rows)) if hasattr(module, "notes") else [],
        "sizes": module.sizes(quick), "num_values": study.num_values, "seconds": study.seconds,
        "versions": {name: _version(name) for name in PACKAGES},
    }  # fmt: skip


def _svg(figure: Any) -> str:
    """SVG with text as text and without a date, so that the same runs give the same small file."""
    from matplotlib import rc_context

    # Exponents kept as text make matplotlib warn of fonts that the reader need not have.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    out = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ioopt"}):
        figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    return out.getvalue()


def _version(name: str) -> str:
    try:
        return __version__ if name == "ioopt" else metadata.version(name)
    except metadata.PackageNotFoundError:
        return ABSENT


def write_page(page: Path, found: Mapping[tuple[str, str], Conclusion]) -> None:
    """Write *page* and its pictures (folder ``figures`` beside it) for all studies of a store.

    *found* maps (paper, size) to a conclusion; a full run is preferred to a quick one.
    """
    chosen = {name: ("full" if (name, "full") in found else "quick") for name, _ in sorted(found)}
    parts = [HEAD, _counts(chosen, found)]
    for paper, size in chosen.items():
        parts += _section(paper, size, found[paper, size], page.parent / "figures")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(parts))


def counted(rows: Sequence[Sequence[str]]) -> str:
    """How many of *rows* have each verdict, in words."""
    count = Counter(row[-1] for row in rows)
    return ", ".join(f"{number} {word}" for word, number in count.most_common())


def _counts(chosen: Mapping[str, str], found: Mapping[tuple[str, str], Conclusion]) -> str:
    """The table of verdicts by paper."""
    rows = []
    for paper, size in chosen.items():
        one = found[paper, size]
        # "reproduced, labels swapped" is reproduced.
        count = Counter(claim[-1].partition(",")[0] for claim in one["claims"])
        other = sum(count.values()) - sum(count[word] for word in WORDS)
        rows.append(
            (TITLES.get(paper, paper), size, len(one["claims"]), *(count[word] for word in WORDS),
             other, one["num_values"], round(one["seconds"]))
        )  # fmt: skip
    total = [sum(column) for column in zip(*(row[2:] for row in rows), strict=True)]
    rows.append(("all", "", *total))
    head = ("paper", "size", "claims", *WORDS, "no verdict", "runs", "seconds of computing")
    return _table(head, rows)


def _section(paper: str, size: str, one: Conclusion, folder: Path) -> Iterable[str]:
    """The parts of one paper's section; its pictures are written on the way."""
    yield f"## {TITLES.get(paper, paper)}\n"
    reduced = "" if size == "full" else " **Quick sizes; the full ones have not been run.**"
    option = "" if size == "full" else " --quick"
    yield f"`python scripts/reproduce.py {paper}{option}`: {one['sizes']}.{reduced}\n"
    yield _table(one.get("head", CLAIM_HEAD), one["claims"])
    if one.get("notes"):
        yield "\n".join(f"- {note}" for note in one["notes"]) + "\n"
    for name, picture in one["pictures"].items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.svg").write_text(picture["svg"])
        yield f"![{picture['caption']}](figures/{name}.svg)\n\n*{picture['caption']}*\n"
    known = [f"{name} {version}" for name, version in one["versions"].items() if version != ABSENT]
    yield f"Versions: {', '.join(known)}.\n"


def _table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    escaped = [
        [cell.replace("|", "\\|") if isinstance(cell, str) else cell for cell in row]
        for row in rows
    ]
    return render(headers, escaped, "markdown")
