"""``ioopt doctor``: what is here, and whether kernels are compiled."""

import json
from importlib.metadata import version
from typing import Any

from ioopt.compiled import library


def test_compiling_left_doctor(run: Any) -> None:
    code, _, err = run("doctor", "--compile")
    assert code == 2 and err.endswith("Error: No such option '--compile'.\n")


def test_the_doctor_tells_what_is_here(run):
    code, out, _ = run("doctor", "--format", "json")
    rows = {(row["what"], row["name"]): row for row in json.loads(out)}
    assert rows["backend", "CP-SAT"]["state"] == version("ortools")
    (kernels,) = (row for key, row in rows.items() if key[0] == "kernels")
    plain = library.why_plain()
    assert kernels["state"] == ("plain Python" if plain else "compiled")
    assert kernels["note"] == plain
    shown = run("doctor")
    assert code == shown[0] == 0 and all(
        len(line) <= 80 for line in shown[1].splitlines()
    )
