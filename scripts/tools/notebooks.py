"""Run the notebooks of docs/notebooks and store their outputs in them.

    python scripts/tools/notebooks.py            # all; some names: only those
    python scripts/tools/notebooks.py --check    # run them, write nothing

An error in a cell stops the run. Needs the extra ``docs`` (nbclient, ipykernel) and
matplotlib.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/notebooks"
MOST_BYTES = 100_000
"""Larger pictures are left out, so that the repository stays small."""


def digest(cells: list[Any]) -> str:
    """Return a hash of the code, which shows whether stored outputs belong to it."""
    code = "\0".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    return hashlib.sha256(code.encode()).hexdigest()


def run(path: Path) -> Any:
    """Run a notebook and return it with its outputs, without times and ids."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    own = {
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
    """Run the notebooks named on the command line (default: all), and store them."""
    import nbformat

    names = [word for word in words if word != "--check"]
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            book = run(path)
            if names == words:
                nbformat.write(book, path)
            print(f"{path.relative_to(ROOT)}: {len(book.cells)} cells")


if __name__ == "__main__":
    main(sys.argv[1:])
