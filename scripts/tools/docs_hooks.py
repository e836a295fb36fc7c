"""Hooks of the documentation build: equations as MathML, tables from the
registry, notebooks as pages.

Nothing on the built pages needs a network: equations become MathML here
instead of a script there.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # it need not be installed to document it

from ioopt import registry  # noqa: E402
from ioopt.cli.listings import json_schema  # noqa: E402
from ioopt.tables import render  # noqa: E402

EQUATION = re.compile(
    r'<(span|div) class="arithmatex">\s*(?:\\\((.*?)\\\)|\\\[(.*?)\\\])\s*</\1>',
    re.DOTALL,
)
ROLE = re.compile(r":(?:class|func|mod|meth|attr|data|exc):<code>~?")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add every notebook, with what it shows, as a page."""
    from mkdocs.structure.files import File

    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        page = str(Path(file.src_uri).with_suffix(".md"))
        files.append(
            File.generated(config, page, content=notebook_page(Path(file.abs_src_path)))
        )
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the places marked ``<!-- README -->``, ``<!-- solver table -->``,
    ``<!-- schema table -->``.
    """
    makers = {
        "README": readme,
        "solver table": solver_table,
        "schema table": schema_table,
    }
    for name, made in makers.items():
        if f"<!-- {name} -->" in markdown:
            markdown = markdown.replace(f"<!-- {name} -->", made())
    # links to files of the repository, outside the pages, become plain text
    up = re.escape("../" * (1 + page.file.src_uri.count("/")))
    return re.sub(rf"\[([^\]]+)\]\({up}[^)]+\)", r"\1", markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Render every equation as MathML, and leave out the roles before
    names in docstrings.
    """
    from latex2mathml.converter import convert

    def rendered(match: re.Match[str]) -> str:
        inline, block = match.group(2), match.group(3)
        display = "inline" if inline is not None else "block"
        math = str(
            convert(
                html.unescape(inline if inline is not None else block), display=display
            )
        )
        return math if display == "inline" else f'<div class="formula">{math}</div>'

    return ROLE.sub("<code>", EQUATION.sub(rendered, content))


def readme() -> str:
    """The README as a page: links from the folder of the pages,
    others as plain text.
    """
    text = (ROOT / "README.md").read_text("utf-8")
    text = text.replace("](docs/", "](./").replace(".ipynb)", ".md)")
    return re.sub(r"\[([^\]]+)\]\((?!\./|https:)[^)]+\)", r"\1", text).replace(
        "](./", "]("
    )


def notebook_page(path: Path) -> str:
    """The cells of the notebook and what is stored of them, in Markdown."""
    import nbformat

    book = nbformat.read(path, as_version=4)
    first, *cells = book.cells
    parts = [first.source, f"*Try it yourself: [{path.name}]({path.name}).*"]
    for cell in cells:
        code = cell.cell_type == "code"
        parts.append(f"```python\n{cell.source}\n```" if code else cell.source)
        parts += [shown(output) for output in cell.get("outputs", ())]
    return "\n\n".join(parts)


def shown(output: Any) -> str:
    """One output of a cell: a picture, a table, or text."""
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "text/html" in data:
        return str(data["text/html"]).replace(' border="1" class="dataframe"', "")
    text = re.sub(
        r"\x1b\[[0-9;?]*[A-Za-z]", "", output.get("text") or data["text/plain"]
    )
    return f"```text\n{text.strip()}\n```"


def solver_table() -> str:
    """Every solver of the registry, a Markdown table under a heading for
    each kind of instance.
    """
    headers = ("solver", "what it does", "source", "abilities", "backends")
    text = ""
    for kind in registry.KINDS.values():
        rows = [
            (
                f"`{spec.name}`",
                spec.summary,
                spec.source,
                ", ".join(sorted(spec.abilities)) or None,
                ", ".join(spec.backends) or None,
            )
            for spec in registry.solvers_for(kind.kind)
        ]
        text += f"\n## {kind.kind}\n\n{kind.summary}\n\n" + render(
            headers, rows, "markdown"
        )
    return text


def schema_table() -> str:
    """Every instance format with the keys of its JSON Schema."""
    rows = []
    for spec in registry.FORMATS.values():
        schema = json_schema(spec.problem_class())
        required = set(schema.get("required", ()))
        for key, value in schema["properties"].items():
            kind = (
                value.get("type")
                or value.get("$ref", "").rpartition("/")[2]
                or "one of several"
            )
            need = "required" if key in required else "optional"
            rows.append((f"`{spec.format}`", f"`{key}`", kind, need))
    return "\n" + render(("format", "key", "type", ""), rows, "markdown")
