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
from ioopt.validation.summary import rounded, time

SAMPLES = ROOT / "docs" / "samples"
TRACE = SAMPLES / "recorded-trace.txt"
DAG = SAMPLES / "recorded-dag.dot"
SMALL = ("trace.txt", "--dag", DAG, "--storage", "nfs")
"""A part of the sample, which is validated in half a second."""


@pytest.fixture
def rows(tmp_path):
    """The rows of the first three samples and of the report, which are also in
    ``trace.txt``.
    """
    with open(TRACE, newline="") as file:
        read = csv.DictReader(file, delimiter="\t")
        found = [row for row in read if row["tag"] in ("s01", "s02", "s03", "all")]
    write(tmp_path, found)
    return found


def write(folder, rows):
    """Write *rows* as ``trace.txt``, with the columns of the first one."""
    with open(folder / "trace.txt", "w", newline="") as file:
        writer = csv.DictWriter(
            file, rows[0], delimiter="\t", extrasaction="ignore", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)


def answered(run, *words):
    code, out, err = run("validate", *words, "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    jsonschema.validate(found, json_schema(schema_classes()["validation"]()))
    return found


def one_line(text):
    return " ".join(text.split())


def test_text_page_and_json_say_the_same(run, rows, tmp_path):
    found = answered(run, *SMALL)
    has_the_keys_of_the_format(found)
    code, text, notes = run("validate", *SMALL, "-o", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert code == 0 and max(map(len, text.splitlines())) <= 80
    disks = found["node_disks"]
    said = [
        time(found["recorded"]["makespan_seconds"]),
        time(found["replayed"]["makespan_seconds"]),
        *map(time, found["replayed"]["band"][::2]),
        time(found["plan"]["makespan_seconds"]),
        time(disks["shared_makespan_seconds"]),
        time(disks["makespan_seconds"]),
        rounded("bytes", disks["bytes_per_node"]),
        f"on {found['fitted_on']} of 10 tasks",
    ]
    assert found["undetermined"] == ["cache_bytes"]
    said.append("not determined by this record")
    fitted = found["fitted"].items()
    said += [rounded(name, value) for name, value in fitted if name != "cache_bytes"]
    for words in said:
        assert words in one_line(text) and words in page
    for note in found["notes"]:
        assert note in one_line(notes) and note in page
    assert not found["plan"]["certain"] and found["plan"]["saves"] < 0.2
    assert "ioopt cannot tell which is faster" in one_line(text)


def has_the_keys_of_the_format(found):
    assert (found["format"], found["version"]) == ("ioopt/validation", 1)
    assert found["recorded"].keys() == {"makespan_seconds"}
    keys = {"makespan_seconds", "error", "task_error", "band"}
    assert found["replayed"].keys() == keys
    assert {"makespan_seconds", "gain", "bytes_per_node"} < found["node_disks"].keys()
    for task in found["tasks"]:
        assert task.keys() == {"id", "recorded_seconds", "replayed_seconds"}
    makespan = found["recorded"]["makespan_seconds"]
    error = found["replayed"]["makespan_seconds"] / makespan - 1
    assert found["replayed"]["error"] == pytest.approx(error)
    assert found["replayed"]["band"] == sorted(found["replayed"]["band"])


@pytest.mark.slow
def test_the_documented_output_is_that_of_the_command(run, tmp_path):
    """Numbers may differ a little: the search for constants is one in floating
    point.
    """
    page = (ROOT / "docs" / "validate.md").read_text()
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    command = re.search(r"```sh\nioopt (validate .*?)\n```", page, re.DOTALL)[1]
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    code, text, _ = run(*command.replace("\\\n", " ").split())
    number = re.compile(r"[0-9.]*[0-9]")
    assert code == 0
    assert number.sub("#", one_line(text)) == number.sub("#", one_line(shown))
    printed = [float(value) for value in number.findall(text)]
    told = [float(value) for value in number.findall(shown)]
    assert printed == pytest.approx(told, rel=0.02, abs=0.2)
    stands_alone((tmp_path / "page.html").read_text())


def stands_alone(page):
    """A page is below 1 MB, loads nothing, and has the summary before the picture."""
    assert len(page) < 1_000_000
    addresses = re.findall(r"(?:src|href)\s*=\s*[\"']?([^\"'\s>]+)", page)
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "@import" not in page and "<script" not in page
    words = ("<td class=t>recorded<", "<figure>", "<h2>", "Not modelled")
    places = [page.index(word) for word in words]
    assert places == sorted(places)


def test_only_a_page_can_be_written(run, rows):
    code, out, err = run("validate", *SMALL, "-o", "page.png")
    assert (code, out) == (2, "")
    assert err == "ioopt: page.png: the page's name ends in .html\n"


def test_without_hosts_what_can_be_answered_is(run, rows, tmp_path):
    for row in rows:
        del row["hostname"]
    write(tmp_path, rows)
    machine = ("--machine", "nodes=3,cores=4,remote_rate=2.5MB/s")
    found = answered(run, *SMALL, *machine)
    assert found["replayed"] is None and found["fitted_on"] == 0
    assert found["fitted"]["remote_bytes_per_second"] == 2.5e6
    assert found["node_disks"]["gain"] > 1
    code, text, err = run("validate", *SMALL, *machine, "-o", "page.html")
    assert code == 0 and "does not say on which host each task ran" in one_line(text)
    assert "no host is recorded for 10 tasks" in one_line(err)
    slow = ("--machine", "nodes=3,cores=4,remote_rate=50kB/s")
    ends = answered(run, *SMALL, *slow)["node_disks"]["shared_makespan_seconds"]
    share = 100 * (ends / found["recorded"]["makespan_seconds"] - 1)
    told = one_line(run("validate", *SMALL, *slow)[1])
    assert share > 20
    assert f"; with these the run would end {share:.0f} % too late: say the" in told
    code, out, err = run("validate", *SMALL)
    assert (code, out) == (2, "") and "--machine nodes=N,cores=N" in err


def test_failed_retried_and_cached_rows_are_named(run, rows, tmp_path):
    lost = {**rows[5], "status": "FAILED", "task_id": "90", "hash": "aa/000000"}
    rows[5]["attempt"] = "2"
    rows[0]["status"] = "CACHED"
    write(tmp_path, [*rows, lost])
    found = answered(run, *SMALL)
    notes = " ".join(found["notes"])
    assert "1 attempt that did not complete" in notes
    assert "1 task completed after a retry" in notes
    assert "1 task taken from the cache" in notes
    assert len(found["tasks"]) == 9


def test_without_a_graph_a_note_says_so(run, rows, tmp_path):
    words = ("trace.txt", "--storage", "nfs", "-o", "page.html")
    code, text, notes = run("validate", *words)
    assert code == 0 and "node disks" not in text
    assert (
        "independent" in notes and "independent" in (tmp_path / "page.html").read_text()
    )


def test_what_time_leaves_out_is_noted(run, rows):
    found = answered(run, *SMALL, "--time-limit", "1e-6")
    assert found["replayed"] is not None and found["plan"] is None
    notes = " ".join(found["notes"])
    for words in ("the fit was ended", "no plan was found", "node disks were not"):
        assert words in notes


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere.txt",), "ioopt: nowhere.txt: "),
        (("trace.txt", "--dag", DAG, "--edges", "e.csv"), "one graph is enough"),
        (("trace.txt", "--edges", "e.csv"), "e.csv: line 2: task 'CLEAN (s99)'"),
        ((SAMPLES / "trace.txt",), "line 1: column 'submit' is missing"),
        (("trace.txt", "--machine", "nods=3"), "no key 'nods'; did you mean 'nodes'"),
        (("trace.txt", "--machine", "nodes=8"), "--machine nodes"),
        (("trace.txt", "--time-limit", "0"), "time limit must be more than 0"),
        (("trace.txt", "--dag", TRACE), "recorded-trace.txt: "),
    ],
)
def test_errors_are_one_line_with_the_place(run, rows, tmp_path, words, told):
    (tmp_path / "e.csv").write_text("task,reads_output_of\nCLEAN (s99),CLEAN (s01)\n")
    code, out, err = run("validate", *words)
    assert (code, out) == (2, "")
    assert told in err and err.count("\n") == 1
