"""``ioopt measure`` on quantum models, perturbations and message counts,
and who refuses them.
"""

import json

import pytest

SMALL = {
    "quantum-model": [
        "--preset",
        "figure-2",
        "--set",
        "longest_seconds=0.003",
        "--set",
        "horizon_seconds=5",
    ],
    "perturbation": [
        "--preset",
        "figure-5",
        "--set",
        "runs=1",
        "--set",
        "work_quanta=30",
        "--set",
        "perturbations=4",
    ],
    "message-counts": ["--preset", "laboratory", "--seed", "3"],
}


@pytest.mark.parametrize("kind", SMALL)
def test_generate_check_measure(run, tmp_path, kind):
    assert run("instances", "generate", kind, *SMALL[kind], "-o", "in.json")[0] == 0
    assert run("check", "in.json")[0] == 0
    assert run("instances", "schema", kind)[0] == 0
    wanted = ("-o", "out.json", "--plot", "out.svg", "--format", "json")
    code, out, _ = run("measure", "in.json", *wanted)
    shown = json.loads(out)
    assert code == 0 and shown == json.loads((tmp_path / "out.json").read_text())
    assert (shown["format"], shown["kind"]) == ("ioopt/measurement", kind)
    assert shown["points" if kind == "quantum-model" else "applications"]
    assert "<svg" in (tmp_path / "out.svg").read_text()
    code, table, _ = run("measure", "in.json")
    assert code == 0 and "of all" in table and len(table.splitlines()) > 6


@pytest.mark.parametrize(
    ("name", "figure", "value"),
    [
        ("quantum-ties", "slowdown", 1.28),
        ("gangedness-laboratory", "unknown_applications", 0),
    ],
)
def test_bundled_instances_hold_what_the_catalog_says(run, name, figure, value):
    code, out, _ = run("measure", name, "--format", "json")
    assert code == 0 and json.loads(out)["metrics"][figure] == pytest.approx(
        value, abs=1e-4
    )
