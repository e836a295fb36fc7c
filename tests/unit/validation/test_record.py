"""Tests of records: what is read from a trace and from a graph, and what is said."""

import gzip
import json
from pathlib import Path

import pytest

from ioopt.errors import InstanceError, UsageError
from ioopt.validation.record import read_record

HEAD = (
    "task_id,hostname,hash,process,tag,name,status,exit,cpus,memory,attempt,submit,"
    "start,complete,realtime,%cpu,rchar,wchar,read_bytes,write_bytes"
)
GB = 10**9


def row(
    number: int,
    name: str,
    times: tuple[int, int, int],
    host: str = "h1",
    status: str = "COMPLETED",
    attempt: int = 1,
    asked: int = 0,
    wrote: int = 0,
) -> str:
    """Return a row of a trace, with submission, start and end in milliseconds."""
    submit, start, end = times
    return (
        f"{number},{host},a/{number},p,-,{name},{status},0,2,1024,{attempt},{submit},"
        f"{start},{end},{end - start},50,{asked},{wrote},{asked},{wrote}"
    )


def written(folder: Path, *rows: str, head: str = HEAD, name: str = "t.csv") -> str:
    """Write a trace with *rows*; return its path."""
    path = folder / name
    path.write_text("\n".join([head, *rows]) + "\n")
    return str(path)


def edges(folder: Path, *pairs: tuple[str, str]) -> str:
    """Write a table of edges; return its path."""
    path = folder / "edges.csv"
    lines = [
        "task,reads_output_of",
        *(f"{reader},{writer}" for reader, writer in pairs),
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_times_are_seconds_since_the_first_submission(tmp_path: Path) -> None:
    trace = written(
        tmp_path,
        row(1, "a", (5_000, 6_000, 8_000), wrote=GB),
        row(2, "b", (7_500, 9_000, 13_000), host="h2"),
    )
    record = read_record(trace)
    first, second = record.tasks
    assert (first.submit, first.start, first.end) == (0, 1, 3)
    assert (second.submit, second.start, second.end) == (2.5, 4, 8)
    assert record.makespan == 8
    assert record.hosts == ("h1", "h2")
    assert (first.cores, first.memory_bytes, first.cpu_share) == (2, 1024, 0.5)
    assert not record.has_graph
    assert any("independent" in note for note in record.notes)


def test_cores_that_are_not_recorded_follow_from_the_processor_time(
    tmp_path: Path,
) -> None:
    """The two tasks of ``a`` used 0.5 and 3.2 processors."""
    rows = [row(1, "a (x)", (0, 0, 8)), row(2, "a (y)", (0, 0, 8))]
    rows = [text.replace(",0,2,1024,", ",0,-,1024,") for text in rows]
    rows[1] = rows[1].replace(",8,50,", ",8,320,")
    trace = written(tmp_path, *rows)
    record = read_record(trace)
    assert [task.cores for task in record.tasks] == [4, 4]
    assert any("PROCESS=N): a 4" in note for note in record.notes)
    record = read_record(trace, task_cpus={"a": 6})
    assert [task.cores for task in record.tasks] == [6, 6]


def test_a_gzipped_trace_of_nextflow_s_default_columns_is_read(tmp_path: Path) -> None:
    """Without start and complete, the end is submit + duration = 00:00:10 + 12 s, and
    the start is realtime = 8 s before it.
    """
    path = tmp_path / "trace.txt.gz"
    head = "task_id\thash\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu\trchar"
    line = "1\ta/1\tx\tCOMPLETED\t0\t2024-01-01 00:00:10.000\t12s\t8s\t25.0%\t1 KB"
    path.write_bytes(gzip.compress(f"{head}\n{line}\n".encode()))
    record = read_record(str(path))
    (task,) = record.tasks
    assert (task.submit, task.start, task.end) == (0, 4, 12)
    assert (task.cpu_share, task.asked_bytes, task.read_bytes) == (0.25, 1024, None)
    assert task.host is None
    assert record.hosts == ()
    told = " ".join(record.notes)
    assert "no start" in told
    assert "no host" in told


def test_failed_retried_and_cached_rows_are_kept_apart_and_said(tmp_path: Path) -> None:
    trace = written(
        tmp_path,
        row(1, "a", (0, 0, 0), host="-", status="CACHED", wrote=3 * GB),
        row(2, "b", (1_000, 2_000, 5_000), status="FAILED"),
        row(3, "b", (5_000, 6_000, 9_000), attempt=2, asked=3 * GB),
    )
    record = read_record(trace, edges=edges(tmp_path, ("b", "a")))
    assert [task.id for task in record.tasks] == ["b"]
    assert [task.id for task in record.failed] == ["b"]
    assert [task.id for task in record.cached] == ["a"]
    assert record.inputs["b"] == ("a wrote",)
    assert record.files["a wrote"] == 3 * GB  # there before the run: nobody writes it
    assert "a wrote" not in record.writer
    told = " ".join(record.notes)
    assert "1 attempt that did not complete" in told
    assert "6 core seconds" in told  # 2 cores for 3 s
    assert "after a retry" in told
    assert "taken from the cache" in told


def test_what_a_task_read_beyond_products_is_a_file_of_its_own(tmp_path: Path) -> None:
    trace = written(
        tmp_path,
        row(1, "a", (0, 0, 1_000), wrote=2 * GB),
        row(2, "b", (1_000, 1_000, 2_000), asked=5 * GB),
    )
    record = read_record(trace, edges=edges(tmp_path, ("b", "a")))
    assert record.inputs["b"] == ("a wrote", "b reads")
    assert record.files["b reads"] == 3 * GB


def test_a_task_that_asked_for_less_than_was_written_waits_only(tmp_path: Path) -> None:
    trace = written(
        tmp_path,
        row(1, "a", (0, 0, 1_000), wrote=9 * GB),
        row(2, "b", (1_000, 1_000, 2_000), asked=1 * GB),
    )
    record = read_record(trace, edges=edges(tmp_path, ("b", "a")))
    assert record.inputs["b"] == ("a has ended", "b reads")
    assert record.outputs["a"] == ("a wrote", "a has ended")
    assert (record.files["a has ended"], record.files["b reads"]) == (0, GB)
    assert any("fewer bytes" in note for note in record.notes)


def test_two_graphs_unknown_tasks_and_empty_traces_are_refused(tmp_path: Path) -> None:
    trace = written(tmp_path, row(1, "a", (0, 0, 1_000)))
    with pytest.raises(UsageError, match="one graph is enough"):
        read_record(trace, dag="d.html", edges="e.csv")
    with pytest.raises(InstanceError, match=r"edges.csv: line 2: task 'z'"):
        read_record(trace, edges=edges(tmp_path, ("a", "z")))
    failed = written(tmp_path, row(1, "a", (0, 0, 1), status="FAILED"), name="f.csv")
    with pytest.raises(InstanceError, match="no task completed"):
        read_record(failed)
    with pytest.raises(InstanceError, match="column 'submit' is missing"):
        read_record(written(tmp_path, "x,1s", head="name,realtime", name="n.csv"))


def wfformat(folder: Path) -> str:
    """Write a workflow of two sources of equal bytes, each with one reader."""
    tasks = []
    files = []
    for number in (1, 2):
        made = f"made{number}"
        files.append({"id": made, "sizeInBytes": GB})
        tasks += [
            {
                "name": "make",
                "id": f"make_0000000{number}",
                "parents": [],
                "children": [f"read_0000000{number}"],
                "inputFiles": [],
                "outputFiles": [made],
            },
            {
                "name": "read",
                "id": f"read_0000000{number}",
                "parents": [f"make_0000000{number}"],
                "children": [],
                "inputFiles": [made],
                "outputFiles": [],
            },
        ]
    runs = [{"id": task["id"], "runtimeInSeconds": 1} for task in tasks]
    document = {
        "name": "w",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {"tasks": tasks, "files": files},
            "execution": {"makespanInSeconds": 1, "executedAt": "x", "tasks": runs},
        },
    }
    path = folder / "w.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_rows_of_equal_bytes_are_matched_by_their_times(tmp_path: Path) -> None:
    """Row 4 was submitted when row 1 ended, and row 3 when row 2 did. Thus the reader
    of the file of row 1 is row 4.
    """
    trace = written(
        tmp_path,
        row(1, "task_make (1)", (0, 0, 20_000), wrote=GB),
        row(2, "task_make (2)", (0, 0, 30_000), wrote=GB),
        row(3, "task_read (1)", (30_000, 30_000, 40_000), asked=GB),
        row(4, "task_read (2)", (20_000, 20_000, 40_000), asked=GB),
    )
    record = read_record(trace, edges=wfformat(tmp_path))
    expected = {"task_read (2)": "task_make (1)", "task_read (1)": "task_make (2)"}
    for reader, writer in expected.items():
        (file,) = record.inputs[reader]
        assert record.writer[file] == writer


def test_a_workflow_of_other_tasks_is_refused(tmp_path: Path) -> None:
    trace = written(tmp_path, row(1, "other", (0, 0, 1_000)))
    with pytest.raises(InstanceError, match="no process 'make'"):
        read_record(trace, edges=wfformat(tmp_path))
