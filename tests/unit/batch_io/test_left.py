"""Burst buffers and the search over queue orders have left: one line, and exit 2."""

import json
from pathlib import Path
from typing import Any

import pytest
from batch_io_traces import by_hand

import ioopt
from ioopt.embed.batch import BatchCluster
from ioopt.errors import InstanceError

BUFFER = {
    "bytes": 16,
    "bytes_per_second": 4,
    "drain_bytes_per_second": 1,
    "placement": "shared",
}
JOBS = [(1, 0, 4, 10, [(1, 1)])]


def changed(part: str, key: str, value: Any) -> dict[str, Any]:
    """An instance with one key more in its machine, its options or its job."""
    made = by_hand(JOBS)
    place = made["jobs"][0] if part == "jobs" else made.setdefault(part, {})
    place[key] = value
    return made


@pytest.mark.parametrize(
    ("part", "key", "value", "place", "instead"),
    [
        ("machine", "burst_buffer", BUFFER, "machine.burst_buffer", "burst buffers"),
        ("jobs", "buffer_bytes", 4, "jobs[0] (1).buffer_bytes: 4:", "to the storage"),
        ("jobs", "stage_in_bytes", 2, "jobs[0] (1).stage_in_bytes: 2:", "burst buff"),
        ("jobs", "stage_out_bytes", 2, "jobs[0] (1).stage_out_bytes: 2:", "burst buff"),
        ("options", "staging", "ahead", "options.staging: 'ahead':", "burst buffers"),
        ("options", "nodes_until", "end", "options.nodes_until: 'end':", "burst buff"),
        ("options", "queue", "plan", "options.queue: 'plan':", "take queue=sjf"),
        ("options", "plan_depth", 1, "options.plan_depth: 1:", "take queue=sjf"),
        ("options", "plan_power", 2, "options.plan_power: 2:", "take queue=sjf"),
        ("options", "plan_evaluations", 9, "plan_evaluations: 9:", "take queue=sjf"),
    ],
)
def test_keys_of_instances(
    run: Any,
    tmp_path: Path,
    part: str,
    key: str,
    value: Any,
    place: str,
    instead: str,
) -> None:
    file = tmp_path / "old.json"
    file.write_text(json.dumps(changed(part, key, value)))
    for command in ("solve", "check"):
        code, _, stderr = run(command, file)
        assert code == 2
        (line,) = stderr.splitlines()
        assert str(file) in line and place in line
        assert "has left ioopt" in line or "have left ioopt" in line
        assert instead in line


@pytest.mark.parametrize(
    ("key", "value"),
    [("released_seconds", 9.0), ("buffered", False), ("streams", [])],
)
def test_keys_of_schedules(run: Any, tmp_path: Path, key: str, value: Any) -> None:
    instance, stored = tmp_path / "new.json", tmp_path / "old.json"
    instance.write_text(json.dumps(by_hand(JOBS)))
    result = ioopt.solve(str(instance), "fill").to_dict()
    result["schedule"]["jobs"][0][key] = value
    stored.write_text(json.dumps(result))
    code, _, stderr = run("check", instance, stored)
    assert code == 2
    (line,) = stderr.splitlines()
    assert str(stored) in line and f"jobs[0] (1).{key}: {value!r}:" in line
    assert "burst buffers have left ioopt" in line and "solve it again" in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("queue=plan", "queue: 'plan': the search over queue orders has left ioopt"),
        ("queue=fcfs,plan_depth=1", "plan_depth: the search over queue orders has"),
        ("plan_evaluations=9", "plan_evaluations: the search over queue orders has"),
        ("staging=ahead", "staging: burst buffers have left ioopt"),
        ("nodes_until=release", "nodes_until: burst buffers have left ioopt"),
    ],
)
def test_words_of_machines(run: Any, tmp_path: Path, words: str, said: str) -> None:
    log = tmp_path / "log.swf"
    log.write_text("1 0 0 10 4 -1 -1 4 20 -1 1 1 1 1 1 1 -1 -1\n")
    code, _, stderr = run(
        "import", "swf", log, "--machine", words, "-o", tmp_path / "out.json"
    )
    assert code == 2
    (line,) = stderr.splitlines()
    assert "--machine" in line and said in line


def test_the_preset(run: Any, tmp_path: Path) -> None:
    words = ("batch-io", "--preset", "burst-buffer", "-o", tmp_path / "out.json")
    code, _, stderr = run("instances", "generate", *words)
    assert code == 2
    (line,) = stderr.splitlines()
    assert "preset burst-buffer" in line and "take preset small" in line


def test_plans_and_live_queues() -> None:
    with pytest.raises(InstanceError, match="'plan': the search over queue"):
        BatchCluster(4, queue="plan")
    with pytest.raises(InstanceError, match="nodes_until: 'end': burst buffers"):
        BatchCluster(4, nodes_until="end")


def test_instances_that_left(run: Any, tmp_path: Path) -> None:
    sweep = tmp_path / "grid.toml"
    sweep.write_text(
        '[[instances]]\nbundled = "buffer-12"\n[[solvers]]\nname = "fill"\n'
    )
    for words in (
        ("solve", "buffer-12"),
        ("instances", "copy", "buffer-12"),
        ("sweep", sweep, "--store", tmp_path / "runs.sqlite"),
    ):
        code, _, stderr = run(*words)
        assert code == 2
        (line,) = stderr.splitlines()
        assert "buffer-12: was removed with burst buffers; take io-sets-12" in line
