"""Run the notebooks of docs/notebooks, and store their outputs in them.

    python scripts/tools/notebooks.py [NAME ...]  # these notebooks (default: all)
    python scripts/tools/notebooks.py --check     # run them, but write nothing

An error in a cell stops the run. The extra ``docs`` (nbclient, ipykernel) and
matplotlib are needed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/notebooks"
MOST_BYTES = 100_000
"""The largest number of bytes of a picture in a stored output. Larger pictures are left
out, so that the repository stays small.
"""

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""The colour codes of a terminal, which readers of a notebook must not see."""


def digest(cells: list[Any]) -> str:
    """Return a hash of the code of *cells*. It shows whether stored outputs belong to
    this code.
    """
    code = "\0".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    return hashlib.sha256(code.encode()).hexdigest()


def run(path: Path) -> Any:
    """Run a notebook; return it with its outputs, but without times and ids."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    # The command beside this Python, whether or not its environment is active.
    commands = Path(sys.executable).parent
    own = {
        "PATH": os.pathsep.join([str(commands), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    with TemporaryDirectory() as folder:
        # The notebook writes to this folder; the samples are where it finds them in the
        # repository.
        (Path(folder) / "samples").symlink_to(ROOT / "docs/samples")
        (work := Path(folder) / "notebooks").mkdir()
        client = NotebookClient(
            book,
            timeout=120,
            coalesce_streams=True,
            record_timing=False,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(work)}},
        )
        client.execute(env={**os.environ, **own})
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stdout":
                output["text"] = COLOUR.sub("", output["text"])
            data = output.get("data", {})
            for kind in [kind for kind in data if len(str(data[kind])) > MOST_BYTES]:
                data["text/plain"] = f"<{kind} left out: too large>"
                del data[kind]
    book.metadata = {
        "kernelspec": book.metadata["kernelspec"],
        "ioopt": digest(book.cells),
    }
    return book


def main(words: list[str]) -> None:
    """Run the notebooks that *words*, the command line, name (default: all), and store
    them.
    """
    import nbformat

    paths = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
    parser = argparse.ArgumentParser(description="Run the notebooks of docs/notebooks.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(paths)}; default: all")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(words)
    unknown = [name for name in options.names if name not in paths]
    if unknown:
        parser.error(f"no notebook {unknown[0]}; there are {', '.join(paths)}")
    for name in options.names or paths:
        book = run(paths[name])
        if not options.check:
            nbformat.write(book, paths[name])
        print(f"{paths[name].relative_to(ROOT)}: {len(book.cells)} cells")


if __name__ == "__main__":
    main(sys.argv[1:])
