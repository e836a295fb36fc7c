"""Hooks of the documentation build: equations as MathML, tables from the registry and schemas.

Nothing on the built pages needs a network: equations become MathML here instead of a script there.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

EQUATION = re.compile(
    r'<(span|div) class="arithmatex">\s*(?:\\\((.*?)\\\)|\\\[(.*?)\\\])\s*</\1>', re.DOTALL
)


def on_startup(**_: Any) -> None:
    """Make this checkout importable: it need not be installed to document it."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the places marked ``<!-- solver table -->`` and ``<!-- schema table -->``."""
    if "<!-- solver table -->" in markdown:
        markdown = markdown.replace("<!-- solver table -->", solver_table())
    if "<!-- schema table -->" in markdown:
        markdown = markdown.replace("<!-- schema table -->", schema_table())
    # links to files of the repository, outside the pages, become plain text
    up = re.escape("../" * (1 + page.file.src_uri.count("/")))
    return re.sub(rf"\[([^\]]+)\]\({up}[^)]+\)", r"\1", markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Render every equation as MathML."""
    from latex2mathml.converter import convert

    def rendered(match: re.Match[str]) -> str:
        inline, block = match.group(2), match.group(3)
        display = "inline" if inline is not None else "block"
        return str(convert(html.unescape(inline if inline is not None else block), display=display))

    return EQUATION.sub(rendered, content)


def solver_table() -> str:
    """Every solver of the registry as a Markdown table."""
    from ioopt import registry
    from ioopt.tables import render

    headers = ("solver", "takes", "what it does", "source", "abilities", "backends")
    rows = [
        (f"`{spec.name}`", ", ".join(spec.kinds), spec.summary, spec.source,
         ", ".join(sorted(spec.abilities)) or None, ", ".join(spec.backends) or None)
        for spec in registry.SOLVERS
    ]  # fmt: skip
    return "\n" + render(headers, rows, "markdown")


def schema_table() -> str:
    """Every instance format with the keys of its JSON Schema."""
    from ioopt import registry
    from ioopt.cli.schema import json_schema
    from ioopt.tables import render

    rows = []
    for spec in registry.KINDS.values():
        schema = json_schema(spec.problem)
        required = set(schema.get("required", ()))
        for key, value in schema["properties"].items():
            kind = value.get("type") or value.get("$ref", "").rpartition("/")[2] or "one of several"
            need = "required" if key in required else "optional"
            rows.append((f"`{spec.format}`", f"`{key}`", kind, need))
    return "\n" + render(("format", "key", "type", ""), rows, "markdown")
