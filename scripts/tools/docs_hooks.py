"""Extend the build of the documentation by hooks.

The hooks render equations as MathML (so that no page needs a script from the network),
make tables from the registry, and turn notebooks into pages.
"""

from __future__ import annotations

import html
import re
import sys
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # The package need not be installed to be documented.

from ioopt import registry  # noqa: E402
from ioopt.cli.listings import json_schema  # noqa: E402
from ioopt.embed.schema import (  # noqa: E402
    arguments_in_words,
    described_calls,
    in_words,
    schemas,
)
from ioopt.families import Kind  # noqa: E402
from ioopt.tables import render  # noqa: E402

EQUATION = re.compile(
    r'<(span|div) class="arithmatex">\s*(?:\\\((.*?)\\\)|\\\[(.*?)\\\])\s*</\1>',
    re.DOTALL,
)
ROLE = re.compile(r":(?:class|func|mod|meth|attr|data|exc):<code>~?")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add every notebook, with its outputs, as a page of the documentation."""
    from mkdocs.structure.files import File

    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        page = str(Path(file.src_uri).with_suffix(".md"))
        files.append(
            File.generated(config, page, content=notebook_page(Path(file.abs_src_path)))
        )
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the marks in a page by the README, and by the tables of solvers, formats
    and messages.
    """
    makers = {
        "README": readme,
        **{
            f"solvers of {kind.kind}": partial(solver_table, kind)
            for kind in registry.KINDS.values()
        },
        "schema table": schema_table,
        "message table": message_table,
    }
    for name, made in makers.items():
        if f"<!-- {name} -->" in markdown:
            markdown = markdown.replace(f"<!-- {name} -->", made())
    # In the repository a notebook is a file, here a page.
    markdown = markdown.replace(".ipynb)", ".md)")
    # Links to files of the repository, outside the pages, become plain text.
    up = re.escape("../" * (1 + page.file.src_uri.count("/")))
    return re.sub(rf"\[([^\]]+)\]\({up}[^)]+\)", r"\1", markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Render every equation as MathML, and remove the markup of roles (such as
    ``:func:``) from docstrings.
    """
    from latex2mathml.converter import convert

    def rendered(match: re.Match[str]) -> str:
        inline = match.group(2)
        block = match.group(3)
        if inline is not None:
            return str(convert(html.unescape(inline), display="inline"))
        math = convert(html.unescape(block), display="block")
        return f'<div class="formula">{math}</div>'

    return ROLE.sub("<code>", EQUATION.sub(rendered, content))


def readme() -> str:
    """Return the README as a page. Links to pages of the documentation stay; links to
    other files become plain text.
    """
    text = (ROOT / "README.md").read_text("utf-8")
    text = text.replace("](docs/", "](./").replace(".ipynb)", ".md)")
    text = re.sub(r"\[([^\]]+)\]\((?!\./|https:)[^)]+\)", r"\1", text)
    return text.replace("](./", "](")


def notebook_page(path: Path) -> str:
    """Return the cells of a notebook, with their stored outputs, as Markdown."""
    import nbformat

    book = nbformat.read(path, as_version=4)
    first, *cells = book.cells
    parts = [first.source, f"*Try it yourself: [{path.name}]({path.name}).*"]
    for cell in cells:
        if cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
        else:
            parts.append(cell.source)
        parts += [shown(output) for output in cell.get("outputs", ())]
    return "\n\n".join(parts)


def shown(output: Any) -> str:
    """Return one output of a cell as Markdown or HTML: a picture, a table, or text."""
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "text/html" in data:
        return str(data["text/html"]).replace(' border="1" class="dataframe"', "")
    text = output.get("text") or data["text/plain"]
    # Remove the colours of a terminal.
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return f"```text\n{text.strip()}\n```"


def solver_table(kind: Kind) -> str:
    """Return the solvers of *kind* as a Markdown table."""
    headers = ("solver", "what it does", "source", "abilities", "backends")
    rows = []
    for spec in registry.solvers_for(kind.kind):
        abilities = ", ".join(sorted(spec.abilities)) or None
        backends = ", ".join(spec.backends) or None
        name = f"`{spec.name}`"
        rows.append((name, spec.summary, spec.source, abilities, backends))
    return render(headers, rows, "markdown")


def schema_table() -> str:
    """Return a Markdown table of the keys of all instance formats, made from their JSON
    Schemas.
    """
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


def message_table() -> str:
    """Return the calls of every embedded object as Markdown: a heading and a table for
    each object, made from the schemas that the service publishes.
    """
    found = schemas("#/{model}")
    text = ""
    for name, calls in groupby(described_calls(), lambda call: call.object):
        opened, *methods = calls
        arguments = ", ".join(arguments_in_words(found[name]))
        rows = [(f"`open` {name}", arguments, "session", opened.words)]
        for call in methods:
            key = call.arguments.__name__
            value = in_words(found[f"{key}_value"])
            arguments = ", ".join(arguments_in_words(found[key]))
            rows.append((f"`{call.method}`", arguments, value, call.words))
        headers = ("call", "arguments", "value", "what it does")
        text += f"\n### {name}\n\n{render(headers, rows, 'markdown')}"
    return text
