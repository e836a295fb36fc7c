"""Reading and writing native files: every refusal names the place; writing destroys nothing."""

from __future__ import annotations

import gzip
import json

import pytest

import ioopt
from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import dump_json, parse_json, read_json, replacing, write_text


def instance(**changes):
    data = {
        "format": "ioopt/replication",
        "version": 1,
        "name": "t",
        "network": {"remote_bytes_per_second": 10, "replica_bytes_per_second": 20},
        "nodes": [{"id": "n0"}, {"id": "n1", "disk_bytes": 100}],
        "files": [{"id": "f0", "bytes": 30}, {"id": "f1", "bytes": 80}],
        "tasks": [{"id": "t0", "compute_seconds": 1, "inputs": ["f0"]}],
    }
    return data | changes


BAD_INSTANCES = [
    ({"format": None}, "format"),
    ({"format": "ioopt/replicaton"}, "did you mean 'ioopt/replication'"),
    ({"version": 2}, "version"),
    ({"extra": 1}, "extra: unknown key"),
    ({"nodes": []}, "nodes"),
    ({"nodes": [{"id": "n"}, {"id": "n"}]}, r"nodes\[1\].id 'n' is already the id of nodes\[0\]"),
    ({"nodes": [{"id": "n", "disk": 3}]}, r"nodes\[0\] \(n\)\.disk: unknown key"),
    ({"nodes": [{"id": "n", "speed": 0}]}, r"nodes\[0\] \(n\)\.speed: .*greater than 0, not 0"),
    ({"nodes": [{"id": "n", "holds": ["zz"]}]}, r"nodes\[0\] \(n\)\.holds: there is no file 'zz'"),
    (
        {"nodes": [{"id": "n", "disk_bytes": 50, "holds": ["f0", "f1"]}]},
        "110 bytes held, but disk_bytes is 50",
    ),
    ({"files": [{"id": "f0", "bytes": -1}]}, r"files\[0\] \(f0\)\.bytes: .*not -1"),
    ({"files": [{"id": "f0", "bytes": 1.5}]}, r"files\[0\] \(f0\)\.bytes"),
    ({"files": [{"id": "f0", "bytes": True}]}, r"files\[0\] \(f0\)\.bytes"),
    ({"files": [{"id": "f0", "bytes": 1, "storage": "s"}]}, "there is no storage 's'"),
    (
        {"tasks": [{"id": "t", "compute_seconds": float("nan")}]},
        r"tasks\[0\] \(t\)\.compute_seconds: .*finite",
    ),
    ({"tasks": [{"id": "t", "compute_seconds": "1"}]}, r"tasks\[0\] \(t\)\.compute_seconds"),
    (
        {"tasks": [{"id": "t", "compute_seconds": 1, "inputs": ["f0", "f0"]}]},
        r"tasks\[0\] \(t\)\.inputs: file 'f0' is listed twice",
    ),
    ({"tasks": [{"compute_seconds": 1}]}, r"tasks\[0\]\.id: missing"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_INSTANCES)
def test_bad_instances_name_the_place(changes, message):
    with pytest.raises(InstanceError, match=message) as caught:
        ioopt.load(instance(**changes))
    assert "\n" not in str(caught.value)


def test_good_instance_loads_and_round_trips():
    problem = ioopt.load(instance())
    assert problem.inputs == ((0,),)
    assert problem.readers == ((0,), ())
    again = ioopt.load(json.loads(dump_json(problem.model_dump(mode="json"))))
    assert again == problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 column 1"),
        ('{"a": 1', "line 1 column 8"),
        ('{"a": 1, "a": 2}', "key 'a' is given twice"),
        ('{"a": NaN}', "NaN is not a number"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    ],
)
def test_broken_json_names_the_place(text, message):
    with pytest.raises(InstanceError, match=message):
        parse_json(text, "x.json")


def test_broken_files(tmp_path):
    for name, content, message in [
        ("latin.json", b'{"a": "\xe9"}', "not UTF-8"),
        ("cut.json.gz", gzip.compress(b"{}" * 1000)[:-9], "cannot be read"),
        ("list.json", b"[1]", "an instance is a JSON object, not list"),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InstanceError, match=message):
            ioopt.load(path)
    with pytest.raises(InstanceError, match="no such file, and no bundled instance"):
        ioopt.load(tmp_path / "absent.json")
    with pytest.raises(InstanceError, match="is a directory"):
        ioopt.load(tmp_path)


def test_gzip_is_read_and_written_reproducibly(tmp_path):
    text = dump_json(instance())
    for name in ("a.json.gz", "b.json.gz"):
        write_text(tmp_path / name, text)
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    assert read_json(tmp_path / "a.json.gz") == instance()


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "result.json"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="half way"), replacing(target) as stream:  # noqa: PT012
        stream.write("new, but only ha")
        raise RuntimeError("half way")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        write_text(tmp_path / "no" / "result.json", "x")
