"""Write the pages of the reproduction from the results in a store."""

from __future__ import annotations

import io
import logging
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

from papers.claims import (
    HOLDS,
    MIXED,
    NOT,
    NOT_RUN,
    PARTLY,
    TIE,
    TIE_MARGIN,
    VERDICTS,
    Claim,
    Spot,
    Table,
)

from ioopt.campaign.study import Study
from ioopt.tables import render
from ioopt.version import __version__

TITLES = {
    "khanna": "Khanna et al.: task scheduling with file replication",
    "zhou": "Zhou et al.: I/O-aware batch scheduling",
    "zhang": "Zhang et al.: gang scheduling with file locality",
    "lee": "Lee et al.: flexible gang scheduling",
}
PACKAGES = ("ioopt", "ortools", "pulp", "numpy")
HEAD = f"""# What of the papers is reproduced

Written by `python scripts/reproduce.py all`. A claim is judged under the paper's text,
read as literally as it can be; the last column names the readings that judge otherwise.
The rules were fixed before the reported seeds were run:

- **{HOLDS}**: the 95 % interval lies on the side that the paper says, and where the
  paper prints a number the mean meets it
- **{TIE}**: the interval includes equality, or the means differ by less than
  {100 * TIE_MARGIN:g} %
- **{PARTLY}**: the direction holds and the number is not met, or some of several cases
  hold and none is against it
- **{MIXED}**: some cases hold, or hold partly, and others are decisively against the
  claim
- **{NOT}**: no case holds, and the interval of one lies on the other side; or a count,
  an order or a stated range is another
- **{NOT_RUN}**: it needs what does not exist any more, or is not built

[Six claims of each paper](reproduction/pictures.md) are drawn beside its numbers.
[Every equation, algorithm, figure and workload](coverage.md) of the papers has its
place in the code.

## The main claims
"""
PICTURES = """# Main claims beside the papers' numbers

Written by `python scripts/reproduce.py all`. A dot is our figure under the paper's
text, with its 95 % interval; a diamond is the number that the paper prints, or the
limit that its words set ("better": 1).
"""
OURS = "#0072B2"
COLUMNS = ("claim", "where", "the paper's word", "ours", "verdict", "other readings")
ABSENT = "not installed"

Conclusion = Mapping[str, Any]
Cells = Sequence[Any]


def conclusion(module: ModuleType, quick: bool, study: Study) -> dict[str, Any]:
    """Compute the claims and pictures of a paper; return the results in the form in
    which they are stored.
    """
    rows: Sequence[Claim] = module.claims(quick)
    pictures: dict[str, dict[str, str]] = {}
    if hasattr(module, "pictures"):
        for name, caption, axes in module.pictures(quick):
            pictures[name] = {"caption": caption, "svg": _svg(axes.figure)}
    notes: list[str] = []
    if hasattr(module, "notes"):
        notes = list(module.notes(rows))
    sweeps: list[Table] = []
    if hasattr(module, "sweeps"):
        sweeps = list(module.sweeps(quick))
    return {
        "claims": rows,
        "pictures": pictures,
        "readings": list(module.READINGS),
        "notes": notes,
        "sweeps": sweeps,
        "sizes": module.sizes(quick),
        "num_values": study.num_values,
        "seconds": study.seconds,
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _svg(figure: Any) -> str:
    """Return *figure* as SVG, with its text as text and without a date.

    Equal runs then give equal files, which are small.
    """
    from matplotlib import rc_context

    # Exponents kept as text make matplotlib warn of fonts that readers do not need.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    out = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ioopt"}):
        figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    return out.getvalue()


def _version(name: str) -> str:
    """Return the version of a package, or ABSENT if the package is not installed."""
    if name == "ioopt":
        return __version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ABSENT


def write_page(page: Path, found: Mapping[tuple[str, str], Conclusion]) -> None:
    """Write the summary to *page*, and in a folder beside it a page for each paper,
    with its pictures.

    *found* has results keyed by (paper, size). Full results of a paper are preferred to
    quick ones.
    """
    chosen: dict[str, str] = {}
    for name in TITLES:
        for size in ("full", "quick"):
            if (name, size) in found:
                chosen[name] = size
                break
    ended = {name: found[name, size] for name, size in chosen.items()}
    folder = page.parent / page.stem
    folder.mkdir(parents=True, exist_ok=True)
    for name, one in ended.items():
        text = "\n".join(_section(name, chosen[name], one, folder / "figures"))
        (folder / f"{name}.md").write_text(text)
    shown = _pictured(ended, folder)
    (folder / "pictures.md").write_text("\n".join(shown))
    parts = [HEAD, _headlines(ended, page.stem), *_counts(chosen, ended)]
    page.write_text("\n".join(parts))


def claims_of(one: Conclusion) -> list[Claim]:
    """Return the claims in the stored results of a paper."""
    claims = [Claim(*row) for row in one["claims"]]
    return [row._replace(spots=[Spot(*spot) for spot in row.spots]) for row in claims]


def _pictured(ended: Mapping[str, Conclusion], folder: Path) -> Iterator[str]:
    """Yield the page of pictures, and write a picture for each paper into the folder
    ``figures``.
    """
    yield PICTURES
    for name, one in ended.items():
        rows = [row for row in claims_of(one) if row.drawn and row.spots]
        if not rows:
            continue
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        picture = folder / "figures" / f"{name}-claims.svg"
        picture.write_text(_svg(draw_claims(rows)))
        words = "; ".join(f"({k}) {row.claim}" for k, row in enumerate(rows, 1))
        yield f"## {TITLES[name]}\n"
        yield f"![Claims beside the paper's numbers](figures/{name}-claims.svg)\n"
        yield f"*{words}. [All claims]({name}.md).*\n"


def draw_claims(rows: Sequence[Claim]) -> Any:
    """Draw a panel for each claim, with our figures beside the paper's numbers; return
    the figure.
    """
    from matplotlib.figure import Figure

    across = min(3, len(rows))
    down = math.ceil(len(rows) / across)
    figure = Figure(figsize=(4.2 * across, 2.6 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).flat
    for number, (axes, row) in enumerate(zip_longest(panels, rows), 1):
        if row is None:
            axes.set_axis_off()
        else:
            _draw_claim(axes, row, f"({number}) {row.where}: {row.verdict}")
    return figure


def _draw_claim(axes: Any, row: Claim, title: str) -> None:
    """Draw our figure of each case with its interval, and the paper's numbers as
    diamonds.
    """
    drawn = row.drawn or {}
    numbers = drawn["paper"]
    for place, spot in enumerate(row.spots):
        left, right = spot.mean - spot.low, spot.high - spot.mean
        axes.errorbar(
            spot.mean, place, xerr=[[left], [right]], fmt="o", color=OURS, capsize=3
        )
        paper = numbers.get(spot.case) if isinstance(numbers, Mapping) else numbers
        if paper is not None:
            axes.plot(paper, place, "D", mfc="none", mec="black")
    axes.set_yticks(range(len(row.spots)), [spot.case for spot in row.spots])
    axes.set_ylim(len(row.spots) - 0.5, -0.5)
    axes.set_xlabel(drawn["words"], fontsize="small")
    axes.tick_params(labelsize="small")
    axes.set_title(title, fontsize="small", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if drawn.get("equal", True):
        axes.axvline(1.0, lw=0.8, color="0.7", zorder=0)


def counted(rows: Iterable[Claim]) -> str:
    """Return, as text, how many of *rows* have each verdict."""
    count = Counter(row.verdict for row in rows)
    return ", ".join(f"{count[word]} {word}" for word in VERDICTS if count[word])


def told(row: Claim, figures: bool = True) -> str:
    """Return the readings of *row* that have another verdict, as text in groups of the
    same verdict.
    """
    readings: dict[str, list[str]] = {word: [] for word in VERDICTS}
    for name, word, figure in row.other:
        if figures:
            name = f"{name} ({figure})"
        readings[word].append(name)
    parts = []
    for word, names in readings.items():
        if names:
            parts.append(f"{word}: {', '.join(names)}")
    return "; ".join(parts)


def cells(rows: Iterable[Claim]) -> list[Cells]:
    """Return the rows of a table that has COLUMNS."""
    return [(*row[:5], told(row)) for row in rows]


def _headlines(ended: Mapping[str, Conclusion], folder: str) -> str:
    """Return a table of the main claims of all papers."""
    rows: list[Cells] = []
    for name, one in ended.items():
        authors = TITLES[name].partition(":")[0]
        for row in claims_of(one):
            if not row.headline:
                continue
            line = (
                f"[{authors}]({folder}/{name}.md)",
                row.claim,
                row.where,
                row.headline,
                row.ours,
                row.verdict,
                told(row, figures=False),
            )
            rows.append(line)
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
    """Yield a table of the number of claims with each verdict, one row for each paper;
    then a line on the claims of ioopt.
    """
    yield "## All claims of the papers\n"
    rows: list[Cells] = []
    own: list[Claim] = []
    for name, one in ended.items():
        claims = claims_of(one)
        count = Counter(row.verdict for row in claims if row.counted)
        own += [row for row in claims if row.own]
        line = (
            TITLES[name],
            chosen[name],
            sum(count.values()),
            *(count[word] for word in VERDICTS),
            one["num_values"],
            round(one["seconds"]),
        )
        rows.append(line)
    numbers = [row[2:] for row in rows]
    total = [sum(column) for column in zip(*numbers, strict=True)]
    rows.append(("all", "", *total))
    head = ("paper", "size", "claims", *VERDICTS, "runs", "seconds of computing")
    yield _table(head, rows)
    yield f"Beside these, ioopt's own claims: {counted(own) or 'none'}.\n"


def _section(paper: str, size: str, one: Conclusion, folder: Path) -> Iterator[str]:
    """Yield the parts of the page of one paper, and write its pictures into
    *folder*.
    """
    yield f"# {TITLES[paper]}\n"
    command = f"python scripts/reproduce.py {paper}"
    remark = ""
    if size != "full":
        command += " --quick"
        remark = " **Quick sizes; the full ones have not been run.**"
    yield f"`{command}`: {one['sizes']}.{remark}\n"
    first, *others = one["readings"]
    yield f"Read as printed: {first}. Other readings: {'; '.join(others) or 'none'}.\n"
    yield from _judged(claims_of(one))
    if one.get("notes"):
        notes = "\n".join(f"- {note}" for note in one["notes"])
        yield f"{notes}\n"
    for title, head, lines in one.get("sweeps", ()):
        yield f"## {title}\n"
        yield _table(head, lines)
    for name, picture in one["pictures"].items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.svg").write_text(picture["svg"])
        yield f"![{picture['caption']}](figures/{name}.svg)\n\n*{picture['caption']}*\n"
    versions = []
    for name, version in one["versions"].items():
        if version != ABSENT:
            versions.append(f"{name} {version}")
    yield f"Versions: {', '.join(versions)}.\n"


def _judged(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield the claims of the paper, why some do not hold, those that hold by
    definition, and those of ioopt.
    """
    yield _table(COLUMNS, cells(row for row in claims if row.counted))
    reasons = [row for row in claims if row.verdict == NOT and row.why]
    if reasons:
        yield "## Why not\n"
        yield "\n".join(f"- *{row.claim}* ({row.where}): {row.why}" for row in reasons)
        yield ""
    fitted = cells(row for row in claims if row.fitted)
    if fitted:
        yield "## What the workload is fitted to: not counted\n"
        yield _table(COLUMNS, fitted)
    own = cells(row for row in claims if row.own)
    if own:
        yield "## Claims of ioopt, not of the paper\n"
        yield _table(COLUMNS, own)


def _table(headers: Sequence[str], rows: Iterable[Cells]) -> str:
    """Return a Markdown table; the character ``|`` is escaped in its cells."""
    escaped = [[_escaped(cell) for cell in row] for row in rows]
    return render(headers, escaped, "markdown")


def _escaped(cell: Any) -> Any:
    """Return a cell in which the character ``|`` is escaped."""
    if isinstance(cell, str):
        return cell.replace("|", "\\|")
    return cell
