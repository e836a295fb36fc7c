"""``ioopt validate``: the text, the JSON and the page of the same answer, and records
that lack something.
"""

import csv
import json
import re

import jsonschema
import pytest
from conftest import ROOT

from ioopt.cli.listings import json_schema, schema_classes
from ioopt.units import quantity

SAMPLES = ROOT / "docs" / "samples"
TRACE = SAMPLES / "recorded-trace.txt"
DAG = SAMPLES / "recorded-dag.dot"
SAMPLE = (TRACE, "--dag", DAG)


@pytest.fixture
def rows():
    """The rows of the sample, as dictionaries in the order of the file."""
    with open(TRACE, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def written(path, rows):
    """Write *rows* as a trace, with the columns of the first one; return its path."""
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(
            file, rows[0], delimiter="\t", extrasaction="ignore", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)
    return path


def answered(run, *words):
    code, out, err = run("validate", *words, "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    jsonschema.validate(found, json_schema(schema_classes()["validation"]()))
    return found


def test_text_and_json_say_the_same(run):
    found = answered(run, *SAMPLE)
    assert list(found)[:2] == ["format", "version"]
    assert (found["format"], found["version"]) == ("ioopt/validation", 1)
    assert {"recorded", "replayed", "fitted", "tasks", "plan", "node_disks"} < {*found}
    code, text, _ = run("validate", *SAMPLE)
    assert code == 0 and max(map(len, text.splitlines())) <= 80
    assert text.count("replayed") >= 1
    spoken = " ".join(text.split())
    replayed = found["replayed"]
    times = [
        found["recorded"]["makespan_seconds"],
        replayed["makespan_seconds"],
        *replayed["band"][::2],
        found["plan"]["makespan_seconds"],
        found["node_disks"]["makespan_seconds"],
    ]
    for seconds in times:
        assert quantity("makespan_seconds", seconds) in spoken
    assert quantity("bytes", found["node_disks"]["bytes_per_node"]) in spoken
    for note in found["notes"]:
        assert note in " ".join(run("validate", *SAMPLE)[2].split())


def test_the_sample_is_foretold(run):
    """The run of our own: 37 tasks through one storage of 2.5 MB/s."""
    found = answered(run, *SAMPLE)
    assert len(found["tasks"]) == 37
    assert found["recorded"]["makespan_seconds"] == pytest.approx(87.898)
    replayed = found["replayed"]
    error = replayed["makespan_seconds"] / 87.898 - 1
    assert replayed["error"] == pytest.approx(error, abs=1e-4) and abs(error) < 0.1
    assert replayed["band"] == sorted(replayed["band"])
    # Every byte crosses the storage twice; on node disks only the first reads do.
    assert found["node_disks"]["gain"] > 2
    assert answered(run, *SAMPLE) == found


def test_a_small_difference_is_not_decided(run):
    found = answered(run, *SAMPLE)
    text = " ".join(run("validate", *SAMPLE)[1].split())
    saved = (
        1 - found["plan"]["makespan_seconds"] / found["replayed"]["makespan_seconds"]
    )
    assert abs(saved) < 0.2 and "ioopt cannot tell which is faster" in text


def test_the_page_stands_alone(run, tmp_path):
    code, text, _ = run("validate", *SAMPLE, "-o", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert code == 0 and len(page) < 1_000_000
    addresses = re.findall(r"(?:src|href)\s*=\s*[\"']?([^\"'\s>]+)", page)
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "@import" not in page and "<script" not in page
    # The three runs are in order, and the summary comes before them.
    places = [
        page.index(word)
        for word in ("<td class=t>recorded<", "<figure>", "<h2>", "Not modelled")
    ]
    assert places == sorted(places)
    for row in ("worst tasks", "node disks", "CLEAN (s"):
        assert row in page and row in text


def test_only_a_page_can_be_written(run):
    code, out, err = run("validate", *SAMPLE, "-o", "page.png")
    assert (code, out) == (2, "")
    assert err == "ioopt: page.png: the page's name ends in .html\n"


def test_without_hosts_what_can_be_answered_is(run, rows, tmp_path):
    for row in rows:
        del row["hostname"]
    trace = written(tmp_path / "trace.txt", rows)
    found = answered(run, trace, "--dag", DAG, "--machine", "nodes=3,cores=4")
    assert found["replayed"] is None and found["node_disks"]["gain"] > 1
    assert any("no host is recorded" in note for note in found["notes"])
    code, text, err = run(
        "validate", trace, "--dag", DAG, "--machine", "nodes=3,cores=4", "-o", "p.html"
    )
    assert code == 0 and "does not say on which host each task ran" in " ".join(
        text.split()
    )
    assert "no host is recorded for 37 tasks" in " ".join(err.split())


def test_failed_retried_and_cached_rows_are_named(run, rows, tmp_path):
    lost = {**rows[20], "status": "FAILED", "task_id": "90", "hash": "aa/000000"}
    rows[20]["attempt"] = "2"
    rows[0]["status"] = "CACHED"
    trace = written(tmp_path / "trace.txt", [*rows, lost])
    found = answered(run, trace, "--dag", DAG)
    notes = " ".join(found["notes"])
    assert "1 attempt that did not complete" in notes
    assert "1 task completed after a retry" in notes
    assert "1 task taken from the cache" in notes
    assert len(found["tasks"]) == 36


def test_without_a_graph_a_note_says_so(run):
    found = answered(run, TRACE)
    assert any("independent" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere.txt",), "ioopt: nowhere.txt: "),
        ((TRACE, "--dag", DAG, "--edges", "e.csv"), "one graph is enough"),
        ((TRACE, "--edges", "e.csv"), "e.csv: line 2: task 'CLEAN (s99)'"),
        ((SAMPLES / "trace.txt",), "line 1: column 'submit' is missing"),
        ((TRACE, "--machine", "nods=3"), "no key 'nods'; did you mean 'nodes'"),
        ((TRACE, "--dag", TRACE), "recorded-trace.txt: "),
    ],
)
def test_errors_are_one_line_with_the_place(run, tmp_path, words, told):
    (tmp_path / "e.csv").write_text("task,reads_output_of\nCLEAN (s99),CLEAN (s01)\n")
    code, out, err = run("validate", *words)
    assert (code, out) == (2, "")
    assert told in err and err.count("\n") == 1


def test_the_documented_output_is_what_the_command_prints(run, tmp_path):
    page = (ROOT / "docs" / "validate.md").read_text()
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    command = re.search(r"```sh\nioopt (validate .*?)\n```", page, re.DOTALL)[1]
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    code, text, _ = run(*command.replace("\\\n", " ").split())
    assert code == 0 and text == shown
