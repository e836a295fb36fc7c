"""Every example in the README and the pages is run: Python blocks in order,
and ``ioopt`` lines.

A block preceded by ``<!-- not run: reason -->`` is left out. TOML and JSON
blocks are written to the files that the commands of the page name first, and a
block that begins with ``# NAME.py`` or ``# NAME.toml`` to this file, so that a page
reads as a session. The functions of "Compare your heuristic" are there for all pages.
"""

import re
import shlex
import shutil
from glob import glob
from pathlib import Path

import pytest
from conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?P<skip><!-- (?:not run|ci): [^>]*-->\n)?```(?P<kind>\w+)\n(?P<body>.*?)```",
    re.DOTALL,
)


def blocks(page: Path):
    return [m for m in BLOCK.finditer(page.read_text("utf-8")) if m["skip"] is None]


def runnable(page: Path) -> bool:
    return any(m["kind"] in ("python", "sh") for m in blocks(page))


def write_inputs(page: Path, folder: Path) -> None:
    """TOML blocks become the .toml file, JSON instances the .json file,
    that a command mentions.
    """
    text = "\n".join(m["body"] for m in blocks(page) if m["kind"] == "sh")
    for kind in ("toml", "json"):
        bodies = [m["body"] for m in blocks(page) if m["kind"] == kind]
        names = re.findall(rf"(?<![\w./-])([\w-]+\.{kind})\b", text)
        if bodies and names:
            (folder / names[0]).write_text(bodies[0])
    for sample in (ROOT / "docs" / "samples").glob("*.sol"):
        # What another program would write.
        if sample.name in text:
            shutil.copy(sample, folder)
    for block in blocks(ROOT / "docs" / "compare.md") + blocks(page):
        named = re.match(r"# (\w+\.(py|toml))\n", block["body"])
        if named:
            (folder / named[1]).write_text(block["body"])


def figures(page: Path) -> list[str]:
    """What is bold in tables under the heading "Three figures"."""
    section = (
        page.read_text("utf-8").partition("## Three figures\n")[2].partition("\n## ")[0]
    )
    return re.findall(r"\*\*(\d.*?)\*\*", section)


def run_command(line: str) -> None:
    """Run *line*; like a shell, replace patterns of file names by the names."""
    from ioopt.cli.main import main

    words = []
    for word in shlex.split(line, comments=True):
        words += sorted(glob(word)) or [word]
    code = main(words[1:])
    assert code == 0, f"{line!r} ended with {code}"


LONG = {
    "README",
    "campaigns",
    "compare",
    "fit",
    "flexgang",
    "flexgang-assignment",
    "gallery",
    "replication",
    "validate",
    "workflows",
}
"""Pages of more than three seconds: run by .ci/run, by a real clock."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, id=page.stem, marks=[pytest.mark.slow] if page.stem in LONG else []
        )
        for page in PAGES
        if runnable(page)
    ],
)
def test_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as where python was begun
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    write_inputs(page, tmp_path)
    namespace: dict[str, object] = {}
    ran = 0
    for block in blocks(page):
        if block["kind"] == "python":
            exec(compile(block["body"], page.name, "exec"), namespace)
            ran += 1
        elif block["kind"] == "sh":
            for line in block["body"].replace("\\\n", " ").splitlines():
                if line.startswith("ioopt "):
                    run_command(line)
                    ran += 1
    assert ran > 0
    printed = capsys.readouterr().out
    missing = [figure for figure in figures(page) if figure not in printed]
    assert not missing, f"{page.name} has figures that no command on it prints"
