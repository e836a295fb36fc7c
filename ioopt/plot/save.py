"""Writing a figure: PNG, SVG, PDF, or one self-contained HTML page."""

import html
import io
from pathlib import Path
from typing import Any

from ioopt.errors import UsageError

ENDINGS = (".png", ".svg", ".pdf", ".html")


def check_target(target: str) -> str:
    """The ending of *target*; raises UsageError for one that is not a picture's."""
    ending = Path(target).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"{target}: a picture's name ends in {', '.join(ENDINGS)}")
    return ending


def save(axes: Any, target: str) -> None:
    """Write the figure of *axes* to *target* in the form of its ending; renamed when complete."""
    from ioopt.formats.native import write_bytes

    ending = check_target(target)
    if ending == ".html":
        content = _page(axes.figure, Path(target).stem).encode()
    else:
        out = io.BytesIO()
        axes.figure.savefig(out, format=ending[1:], bbox_inches="tight", dpi=150)
        content = out.getvalue()
    write_bytes(target, content)


def svg_text(figure: Any) -> str:
    """The figure as SVG text without the XML prologue, for embedding in HTML."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight")
    text = out.getvalue()
    return text[text.index("<svg") :]


def _page(figure: Any, title: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}'
        f"</title></head><body>{svg_text(figure)}</body></html>\n"
    )
