"""The pages of the reproduction, written from what the studies in a store came to."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

from papers.claims import HOLDS, NOT, NOT_RUN, PARTLY, TIE, TIE_MARGIN, VERDICTS, Claim

from ioopt.campaign.study import Study
from ioopt.tables import render
from ioopt.version import __version__

TITLES = {
    "khanna": "Khanna et al.: task scheduling with file replication",
    "zhou": "Zhou et al.: I/O-aware batch scheduling",
    "zhang": "Zhang et al.: gang scheduling with file locality",
    "lee": "Lee et al.: flexible gang scheduling",
}
PACKAGES = ("ioopt", "ortools", "pulp", "numba", "numpy")
HEAD = f"""# What of the papers is reproduced

Written by `python scripts/reproduce.py all`. A claim is judged under the paper's text, read as
literally as it can be; the last column names the readings that judge otherwise. The rules were fixed
before the reported seeds were run:

- **{HOLDS}**: the 95 % interval lies on the side that the paper says, and where the paper prints a number
  the mean meets it
- **{TIE}**: the interval includes equality, or the means differ by less than {100 * TIE_MARGIN:g} %
- **{PARTLY}**: the direction holds and the number is not met, or some of several cases hold
- **{NOT}**: the interval lies on the other side
- **{NOT_RUN}**: it needs what does not exist any more, or is not built

[Every equation, algorithm, figure and workload](coverage.md) of the papers has its place in the code.

## The main claims
"""
COLUMNS = ("claim", "where", "the paper's word", "ours", "verdict", "other readings")
ABSENT = "not installed"

Conclusion = Mapping[str, Any]
Cells = Sequence[Any]


def conclusion(module: ModuleType, quick: bool, study: Study) -> dict[str, Any]:
    """What a study came to, as the store keeps it: claims, notes, pictures,
    sizes, seconds, versions.
    """
    rows: Sequence[Claim] = module.claims(quick)
    pictures = {
        name: {"caption": caption, "svg": _svg(axes.figure)}
        for name, caption, axes in getattr(module, "pictures", lambda _: ())(quick)
    }
    return {
        "claims": rows,
        "pictures": pictures,
        "readings": list(module.READINGS),
        "notes": list(module.notes(rows)) if hasattr(module, "notes") else [],
        "sizes": module.sizes(quick),
        "num_values": study.num_values,
        "seconds": study.seconds,
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _svg(figure: Any) -> str:
    """SVG with text as text and without a date, so that the same runs give
    the same small file.
    """
    from matplotlib import rc_context

    # Exponents kept as text make matplotlib warn of fonts that the
    # reader need not have.
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
    """Write *page*, a page a paper beside it and pictures; a full run is
    preferred to a quick one.
    """
    sizes = ("quick", "full")
    chosen = {
        name: size for name, size in product(TITLES, sizes) if (name, size) in found
    }
    ended = {name: found[name, size] for name, size in chosen.items()}
    folder = page.parent / page.stem
    folder.mkdir(parents=True, exist_ok=True)
    for name, one in ended.items():
        text = "\n".join(_section(name, chosen[name], one, folder / "figures"))
        (folder / f"{name}.md").write_text(text)
    page.write_text(
        "\n".join((HEAD, _headlines(ended, page.stem), *_counts(chosen, ended)))
    )


def claims_of(one: Conclusion) -> list[Claim]:
    """The claims of a conclusion."""
    return [Claim(*row) for row in one["claims"]]


def counted(rows: Iterable[Claim]) -> str:
    """How many of *rows* have each verdict, in words."""
    count = Counter(row.verdict for row in rows)
    return ", ".join(f"{count[word]} {word}" for word in VERDICTS if count[word])


def told(row: Claim, figures: bool = True) -> str:
    """The readings that judge otherwise, by verdict."""
    names: dict[str, list[str]] = {word: [] for word in VERDICTS}
    for name, word, figure in row.other:
        names[word].append(f"{name} ({figure})" if figures else name)
    return "; ".join(
        f"{word}: {', '.join(those)}" for word, those in names.items() if those
    )


def cells(rows: Iterable[Claim]) -> list[Cells]:
    """The rows of a table with COLUMNS."""
    return [(*row[:5], told(row)) for row in rows]


def _headlines(ended: Mapping[str, Conclusion], folder: str) -> str:
    """The table of the claims that a paper is known for."""
    rows = [
        (
            f"[{TITLES[name].partition(':')[0]}]({folder}/{name}.md)",
            row.claim,
            row.where,
            row.headline,
            row.ours,
            row.verdict,
            told(row, figures=False),
        )
        for name, one in ended.items()
        for row in claims_of(one)
        if row.headline
    ]
    head = (
        "paper",
        "claim",
        "where",
        "the paper's number",
        "ours",
        "verdict",
        "other readings",
    )
    return _table(head, rows)


def _counts(
    chosen: Mapping[str, str], ended: Mapping[str, Conclusion]
) -> Iterator[str]:
    """Verdicts by paper, of the papers' own claims; ours in a line of their own."""
    yield "## All claims of the papers\n"
    rows: list[Cells] = []
    own: list[Claim] = []
    for name, one in ended.items():
        claims = claims_of(one)
        count = Counter(row.verdict for row in claims if not row.own)
        own += [row for row in claims if row.own]
        verdicts = (count[word] for word in VERDICTS)
        rows.append(
            (
                TITLES[name],
                chosen[name],
                sum(count.values()),
                *verdicts,
                one["num_values"],
                round(one["seconds"]),
            )
        )
    total = [sum(column) for column in zip(*(row[2:] for row in rows), strict=True)]
    rows.append(("all", "", *total))
    yield _table(
        ("paper", "size", "claims", *VERDICTS, "runs", "seconds of computing"), rows
    )
    yield f"Beside these, ioopt's own claims: {counted(own) or 'none'}.\n"


def _section(paper: str, size: str, one: Conclusion, folder: Path) -> Iterator[str]:
    """The parts of one paper's page; its pictures are written on the way."""
    yield f"# {TITLES[paper]}\n"
    reduced = (
        "" if size == "full" else " **Quick sizes; the full ones have not been run.**"
    )
    option = "" if size == "full" else " --quick"
    yield f"`python scripts/reproduce.py {paper}{option}`: {one['sizes']}.{reduced}\n"
    first, *others = one["readings"]
    yield f"Read as printed: {first}. Other readings: {'; '.join(others) or 'none'}.\n"
    claims = claims_of(one)
    yield _table(COLUMNS, cells(row for row in claims if not row.own))
    own = cells(row for row in claims if row.own)
    if own:
        yield "## Claims of ioopt, not of the paper\n"
        yield _table(COLUMNS, own)
    if one.get("notes"):
        yield "\n".join(f"- {note}" for note in one["notes"]) + "\n"
    for name, picture in one["pictures"].items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.svg").write_text(picture["svg"])
        yield f"![{picture['caption']}](figures/{name}.svg)\n\n*{picture['caption']}*\n"
    known = [
        f"{name} {version}"
        for name, version in one["versions"].items()
        if version != ABSENT
    ]
    yield f"Versions: {', '.join(known)}.\n"


def _table(headers: Sequence[str], rows: Iterable[Cells]) -> str:
    escaped = [
        [cell.replace("|", "\\|") if isinstance(cell, str) else cell for cell in row]
        for row in rows
    ]
    return render(headers, escaped, "markdown")
