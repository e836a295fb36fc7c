"""The notebooks hold what they show, of the code that stands in them."""

import json

import pytest
from tools.notebooks import FOLDER, digest

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_was_run_and_its_outputs_are_stored(path):
    book = json.loads(path.read_text("utf-8"))
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    again = f"python scripts/tools/notebooks.py {path.stem}"
    assert book["metadata"]["ioopt"] == digest(book["cells"]), (
        f"code has changed: {again}"
    )
    assert any(cell["outputs"] for cell in cells)
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert kinds <= {"stream", "display_data", "execute_result"}
    assert path.stat().st_size < 200_000


def test_an_edited_cell_is_noticed():
    cells = json.loads(NOTEBOOKS[0].read_text("utf-8"))["cells"]
    before = digest(cells)
    cells[0]["source"] = "words"
    assert digest(cells) == before
    next(cell for cell in cells if cell["cell_type"] == "code")["source"] = "1"
    assert digest(cells) != before
