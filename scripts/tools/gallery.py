"""Print the pictures of docs/gallery.md anew, by the commands that stand on the page.

    python scripts/tools/gallery.py              # all of them
    python scripts/tools/gallery.py bandwidth    # those with this word in their name

A picture of the page is what the commands before it write last. Of an .html page, a
picture is taken with chromium, if it is installed.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gallery.md"
PARTS = re.compile(
    r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$|^!\[[^\n]*\]\((?P<picture>figures/\S+)\)",
    re.DOTALL | re.MULTILINE,
)
WINDOW = "1200,1000"
"""Width and height in pixels of the browser in which a page is shown."""


class Shown(NamedTuple):
    """A picture of the page: its file, the commands that make it, and the files that
    they read, by name.
    """

    picture: Path
    commands: list[list[str]]
    files: dict[str, str]


def shown() -> Iterator[Shown]:
    """Yield the pictures of the page."""
    commands: list[list[str]] = []
    texts: list[str] = []
    for part in PARTS.finditer(PAGE.read_text("utf-8")):
        if part["kind"] == "toml":
            texts.append(part["body"])
        elif part["kind"] == "sh":
            joined = part["body"].replace("\\\n", " ")
            lines = [shlex.split(line, comments=True) for line in joined.splitlines()]
            commands += [line for line in lines if line]
        elif part["picture"]:
            words = [word for line in commands for word in line]
            names = [word for word in words if word.endswith(".toml")]
            files = dict(zip(names, texts, strict=True))
            yield Shown(PAGE.parent / part["picture"], commands, files)
            commands, texts = [], []


def make(item: Shown) -> None:
    """Run the commands of a picture in an empty folder, and store what they draw."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "docs").symlink_to(ROOT / "docs")
        for name, text in item.files.items():
            (Path(folder) / name).write_text(text)
        for command in item.commands:
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        words = [word for command in item.commands for word in command]
        drawn = [word for word in words if word.endswith((".png", ".html"))][-1]
        source = Path(folder) / drawn
        if drawn.endswith(".html"):
            photograph(source, item.picture)
        else:
            shutil.copy(source, item.picture)
    print(item.picture.relative_to(ROOT))


def photograph(page: Path, picture: Path) -> None:
    """Store what a browser shows of *page*; leave *picture* as it is without one."""
    browser = shutil.which("chromium")
    if browser is None:
        print(f"{picture.name}: not taken, chromium is not installed", file=sys.stderr)
        return
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
    taken = (f"--window-size={WINDOW}", f"--screenshot={picture}")
    command = [browser, *options, *taken, page.as_uri()]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def main() -> None:
    """Make the pictures whose names contain the word on the command line."""
    word = "".join(sys.argv[1:2])
    for item in shown():
        if word in item.picture.name:
            make(item)


if __name__ == "__main__":
    main()
