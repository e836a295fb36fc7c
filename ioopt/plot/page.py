"""Write pictures to files, and build self-contained HTML pages with pictures and
tables.
"""

import html
import io
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ioopt.errors import UsageError
from ioopt.formats.native import write_bytes
from ioopt.units import show

ENDINGS = (".png", ".svg", ".pdf", ".html")


def check_target(target: str) -> str:
    """Return the suffix of the file name *target*. Raises UsageError if it is not the
    suffix of a format for pictures.
    """
    ending = Path(target).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"{target}: a picture's name ends in {', '.join(ENDINGS)}")
    return ending


def save(axes: Any, target: str, *, exact: bool = False) -> None:
    """Write the figure of *axes* to the file *target*, in the format that its suffix
    names.

    The margins are cut off unless the size of the figure is *exact*, for a paper; a PNG
    then has the resolution of print. Text in PDF files
    is in TrueType fonts, because publishers refuse Type 3 fonts. They have no date, so
    that the same figure gives the same file.
    """
    from matplotlib import rc_context

    ending = check_target(target)
    cut = None if exact else "tight"
    if ending == ".html":
        content = page(Path(target).stem, svg_text(axes.figure)).encode()
    else:
        out = io.BytesIO()
        dated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
        how = {"pdf.fonttype": 42, "svg.hashsalt": "ioopt"}
        with rc_context(how):
            axes.figure.savefig(
                out,
                format=ending[1:],
                bbox_inches=cut,
                dpi=300 if exact else 150,
                metadata=dated.get(ending),
            )
        content = out.getvalue()
    write_bytes(target, content)


def svg_text(figure: Any) -> str:
    """Return *figure* as SVG text without the XML prologue, for embedding in HTML."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight")
    text = out.getvalue()
    return text[text.index("<svg") :]


STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}
body{color:#1b1f24}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;border-bottom:1px solid #d8dee4;text-align:right}
th{background:#f6f8fa}td:not(.t){white-space:nowrap}
td:first-child,th:first-child,td.t,th.t{text-align:left}
.wide{overflow-x:auto;max-width:100%}h1,li,pre{overflow-wrap:anywhere}
pre{background:#f6f8fa;padding:.4rem .7rem;margin:.5rem 0;white-space:pre-wrap}
.full svg{width:100%}
figure{margin:1rem 0}figcaption{color:#57606a}svg{max-width:100%;height:auto}
"""
NO_PICTURES = "<p>Pictures need matplotlib: pip install 'ioopt[plot]'.</p>"


def can_draw() -> bool:
    """Return whether pictures can be drawn, that is, whether matplotlib is
    installed.
    """
    return find_spec("matplotlib") is not None


def page(title: str, body: str, head: str = "") -> str:
    """Return a complete HTML page with *title* and *body*; the page loads nothing from
    elsewhere. *head* are more elements of its head.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>{head}</head>"
        f"<body>{body}</body></html>\n"
    )


FOLD = "tr.more{display:none}table:has(.fold :checked) tr.more{display:table-row}"
"""Style with which rows of a table stay closed until a reader ticks the box."""


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    words: bool = False,
    shown: int | None = None,
) -> str:
    """Return an HTML table, which gets its own scroll bar on narrow screens.

    Cells that begin with a digit are aligned right as numbers, unless *words* says that
    all cells are text. If *shown* is given, only so many rows at the beginning and at
    the end are shown until a reader opens the others (with the style :data:`FOLD`).
    """
    head = ""
    for k, name in enumerate(headers):
        of_text = words or (bool(rows) and all(_of_text(row[k]) for row in rows))
        head += _tagged("th", of_text, name)
    lines = ""
    folded = range(len(rows), len(rows))
    if shown is not None and len(rows) > 2 * shown + 1:
        folded = range(shown, len(rows) - shown)
    for k, row in enumerate(rows):
        cells = [_tagged("td", words or _of_text(cell), show(cell)) for cell in row]
        if k == folded.start:
            opens = f"<label><input type=checkbox> ... {len(folded)} more</label>"
            lines += f"<tr class=fold><td class=t colspan={len(row)}>{opens}</td></tr>"
        lines += f"<tr{' class=more' if k in folded else ''}>{''.join(cells)}</tr>"
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _of_text(value: object) -> bool:
    return isinstance(value, str) and not value.lstrip("+-")[:1].isdigit()


def _tagged(tag: str, of_text: bool, text: str) -> str:
    """Return *text* as a table cell with *tag*; a cell with *of_text* true is aligned
    left.
    """
    if of_text:
        return f"<{tag} class=t>{html.escape(text)}</{tag}>"
    return f"<{tag}>{html.escape(text)}</{tag}>"


def figure(axes: Any, caption: str) -> str:
    """Return the figure of *axes* as HTML for a page, with *caption* below it."""
    words = html.escape(caption)
    return f"<figure>{svg_text(axes.figure)}<figcaption>{words}</figcaption></figure>"
