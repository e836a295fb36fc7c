"""``ioopt budget`` on a Nextflow trace by hand, and the imports of work directories.

Four samples of TRIM (10 s, 6 bytes), MAP2 (20 s, 3) and CALL (5 s, 1) on 4 cores.
"""

import json
import math
import random
import re
import sys
from pathlib import Path

import pytest

from ioopt.budget import SNAKEMAKE, TRACE, answer, nextflow, noise
from ioopt.budget.nextflow import choose_caps
from ioopt.budget.noise import Noise, _runs_planned_with, noisy_runs, safety
from ioopt.budget.reads import deciding, reading_all
from ioopt.errors import UsageError
from ioopt.formats.nextflow.trace import OWN_BYTES
from ioopt.options import Deadline
from ioopt.problems.work_directory import WorkDirectoryProblem

STEPS = (("TRIM", 10, 6), ("MAP2", 20, 3), ("CALL", 5, 1))
READS = {"TRIM": 8, "MAP2": 6, "CALL": 3}
DAG = (
    'digraph "d" {\nv0 [label="TRIM"];\nv1 [label="MAP2"];\nv2 [label="CALL"];\n'
    "v0 -> v1;\nv1 -> v2;\n}\n"
)


EXACT = ("--noise", "0", "--size-noise", "0")
RECORD = ("trace.txt", "--dag", "dag.dot", "--cores", "4")


@pytest.fixture
def trace(tmp_path):
    rows = ["name\tstatus\trealtime\tcpus\trchar\twchar"]
    for sample in "abcd":
        rows += [
            f"{p} ({sample})\tCOMPLETED\t{s}s\t1\t{READS[p]}\t{w}" for p, s, w in STEPS
        ]
    (tmp_path / "trace.txt").write_text("\n".join(rows) + "\n")
    (tmp_path / "dag.dot").write_text(DAG)
    return (*RECORD, "--size-noise", "0")  # the sizes that are worked by hand


def asked(run, *words):
    code, out, err = run("budget", *words, "--format", "json")
    return code, json.loads(out), err


@pytest.mark.parametrize(
    ("asked_bytes", "least", "how", "even"),
    [
        (1, 6, "only bytes of its own, not the files before it", "even "),
        (0, 9, "all files before it", ""),
    ],
)
def test_what_a_task_read_is_assumed_if_it_asked_for_less(
    run, trace, tmp_path, asked_bytes, least, how, even
):
    """MAP2 (a) asked for 1 of the 6 bytes of TRIM, and the others alike: 6 are the
    least then. Without a record of it, they hold 6 + 3.
    """
    text = (tmp_path / "trace.txt").read_text()
    changed = text.replace("\t20s\t1\t6\t", f"\t20s\t1\t{asked_bytes}\t")
    (tmp_path / "trace.txt").write_text(changed)
    code, text, _ = run("budget", *trace, "--quota", "5")
    assert code == 3 and "proven" not in text and "optimal" not in text
    words = "if 4 tasks read as assumed"
    assert first_row(text).startswith(f"fits no, {even}{words}; needs {least} B")
    assert f"assumed: 4 tasks of MAP2 (4): {how}" in " ".join(text.split())
    assert f"{least} B (the least, {words})" in " ".join(text.split())
    words = ("import", "work-directory", *RECORD, "-o", "made.json")
    assert run(*words)[0] == 0
    again = asked(run, "made.json", "--quota", "5")[1]
    assert again["least"]["found_bytes"] == least
    assert [row["tasks"] for row in again["assumed_reads"][how]] == [4]


def test_a_yes_that_holds_whatever_is_read_has_no_condition(run, trace, tmp_path):
    """MAP2 (a) asked for 1 byte. One sample after the other holds 6 + 3 bytes if MAP2
    reads what TRIM wrote, and 6 if not; so does each run with 9 bytes.
    """
    text = (tmp_path / "trace.txt").read_text()
    (tmp_path / "trace.txt").write_text(text.replace("\t20s\t1\t6\t", "\t20s\t1\t1\t"))
    words = ("budget", *trace, *EXACT, "--quota")
    row = first_row(run(*words, "9")[1])
    assert "no room left, whether or not 4 tasks read all files; needs 9" in row
    told = "; the run needs 24 B so, and 36 B if they read all files"
    assert told in " ".join(run(*words, "38")[1].split())
    row = first_row(run(*words, "8")[1])
    told = ", if 4 tasks read as assumed; not so if they read all files"
    assert row.startswith("fits Nextflow: no") and "not known: yes, but no room" in row
    assert told in row


@pytest.mark.parametrize(
    ("breaks", "decide"),
    [
        ({"A", "D"}, ["A", "D"]),
        ({"E"}, ["E"]),
        ({"A", "B", "C", "D", "E"}, ["A", "B", "C", "D", "E"]),
    ],
)
def test_the_processes_that_decide_are_found(breaks, decide):
    """Each of *breaks* breaks the quota if it reads all files."""
    found = deciding("ABCDE", lambda reads_all: not breaks & {*reads_all})
    assert found == decide


def test_a_process_that_decides_alone_is_the_one_to_state(run, trace, tmp_path):
    """All four TRIM write 24 bytes. MAP2 adds 12 if it reads these, while CALL may read
    the 12 bytes of MAP2 beside its own 4: 25 are enough then.
    """
    text = (tmp_path / "trace.txt").read_text()
    for read in ("20s\t1\t6", "5s\t1\t3"):
        assert text.count(read) == 4
        text = text.replace(read, read[:-1] + "1")
    (tmp_path / "trace.txt").write_text(text)
    found = asked(run, *trace, *EXACT, "--quota", "25")[1]
    rows = {row["process"]: row for row in found["assumed_reads"][OWN_BYTES]}
    assert found["fits"]["answer"] == "depends"
    assert (rows["MAP2"]["decides"], rows["CALL"]["decides"]) == (True, False)
    assert [row["bytes_before"] for row in rows.values()] == [24, 12]
    row = first_row(run("budget", *trace, *EXACT, "--quota", "25")[1])
    told = "this decides, whatever the others read: --reads-own MAP2 (or --reads-all);"
    assert told in row
    words = (*trace, *EXACT, "--quota", "25", "--reads-own", "MAP2")
    found = asked(run, *words)[1]
    assert found["fits"]["answer"] == "yes" and found["fits"]["whatever_is_read"]


def test_a_yes_that_noisy_runs_break_is_tight(run, trace):
    """The caps hold 26 bytes with the recorded times, and not with all others. No
    others hold less; with 27 all keep the quota.
    """
    code, found, _ = asked(run, *trace, "--quota", "26")
    noise = found["noise"]
    assert code == 0 and found["fits"]["way"] == "nextflow"
    assert noise["times"] == 0.3 and noise["runs"] == 20 > noise["kept"]
    words = ("budget", *trace, "--quota")
    row = first_row(run(*words, "26")[1])
    told = f"yes, but tight ({noise['kept']} of 20 noisy runs kept the quota; "
    told += "the smallest quota tried that all keep is 27 B, with these caps)"
    assert told in row
    assert found["fits"]["answer"] == "tight"
    # The plugin of Snakemake would keep it: said beside, as the record is of Nextflow.
    other = found["instead"]
    assert (other["way"], other["safety"], other["limit_bytes"]) == (
        "setting",
        "safe",
        26,
    )
    told = "; with Snakemake and ioopt: yes (all noisy runs), takes "
    assert told in row and row.endswith(" --scheduler-ioopt-policy submission")
    assert "yes (20 of 20" in first_row(run(*words, "27")[1])


@pytest.mark.parametrize("quota", ["36", "38"])
def test_noisy_runs_are_of_tasks_that_read_all_files(run, trace, tmp_path, quota):
    """MAP2 asked for 1 of the 6 bytes of TRIM. As assumed 24 bytes are enough, which
    all larger sizes keep too; with all files read, all at once need 36, which few keep.
    """
    text = (tmp_path / "trace.txt").read_text()
    assert text.count("20s\t1\t6") == 4
    (tmp_path / "trace.txt").write_text(text.replace("20s\t1\t6", "20s\t1\t1"))
    words = (*RECORD, "--noise", "0", "--quota", quota)
    found = asked(run, *words)[1]
    first = found["caps_tried"][0]
    assert first["kept"] <= 1 and first["safe_as_assumed"]
    assert found["fits"]["whatever_is_read"] and found["noise"]["kept"] == 20
    all_read = asked(run, *words, "--reads-all", "MAP2")[1]
    for key in ("needs_bytes", "takes_seconds", "safety"):
        assert found["fits"][key] == all_read["fits"][key]
    pairs = zip(found["caps_tried"], all_read["caps_tried"], strict=True)
    assert all(a["noisy_peak_bytes"] == b["noisy_peak_bytes"] for a, b in pairs)
    own = asked(run, *words, "--reads-own", "MAP2")[1]
    assert (own["fits"]["way"], own["noise"]["kept"]) == ("default", 20)
    row = first_row(run("budget", *words)[1])
    told = (
        "with no caps that take 35 s, all if tasks read as assumed (--reads-own MAP2)"
    )
    assert told in row


@pytest.mark.parametrize(
    ("asked_bytes", "answer", "code"), [(40, "yes", 0), (41, "depends", 4)]
)
def test_a_report_that_asked_for_next_to_nothing_is_no_doubt(
    run, tmp_path, asked_bytes, answer, code
):
    """Four tasks, one after the other, write 1000 bytes each, of which the report asks
    for 1 %: 1500 are enough, unless it reads all 4000.
    """
    rows = ["name\tstatus\trealtime\tcpus\trchar\twchar"]
    rows += [f"MAKE ({sample})\tCOMPLETED\t9s\t1\t1\t1000" for sample in "abcd"]
    rows += [f"REPORT\tCOMPLETED\t1s\t1\t{asked_bytes}\t1"]
    (tmp_path / "trace.txt").write_text("\n".join(rows) + "\n")
    (tmp_path / "dag.dot").write_text(
        'digraph "d" {\nv0 [label="MAKE"];\nv1 [label="REPORT"];\nv0 -> v1;\n}\n'
    )
    words = ("trace.txt", "--dag", "dag.dot", "--cores", "1", *EXACT, "--quota", "1500")
    found = asked(run, *words)
    assert (found[0], found[1]["fits"]["answer"]) == (code, answer)
    text = " ".join(run("budget", *words)[1].split())
    told = "1 task of REPORT (1): only bytes of its own, as it asked for at most 1 %"
    assert (told in text) == (answer == "yes")
    assert asked(run, *words, "--reads-all", "REPORT")[0] == 3
    single = [row for row in rows if "(b)" not in row]  # three are 1.3 % then
    (tmp_path / "trace.txt").write_text("\n".join(single) + "\n")
    assert asked(run, *words)[1]["fits"]["answer"] == "depends"


def test_a_limit_must_hold_whatever_tasks_read(run, trace, tmp_path, monkeypatch):
    """The plugin plans otherwise where tasks read less: those runs count too."""
    text = (tmp_path / "trace.txt").read_text()
    (tmp_path / "trace.txt").write_text(text.replace("20s\t1\t6", "20s\t1\t1"))
    words = (*RECORD, *EXACT[2:], "--quota", "12")
    found = asked(run, *words)[1]
    assert (found["fits"]["way"], found["fits"]["safety"]) == ("setting", "safe")
    assert found["fits"]["whatever_is_read"]
    monkeypatch.setattr(answer, "kept_with", lambda *_: 12)
    found = asked(run, *words)[1]
    assert found["fits"]["safety"] == "tight" and found["fits"]["answer"] == "tight"


def test_the_first_answer_has_the_quickest_caps_that_all_noisy_runs_keep(run, trace):
    """With 28 bytes, caps that take 65 s hold 28, and half of the noisy runs break the
    quota; those that take 95 s hold 25, and none does. Each was simulated.
    """
    code, found, _ = asked(run, *trace, "--quota", "28")
    assert code == 0 and found["fits"]["safety"] == "safe"
    tried = {row["makespan_seconds"]: row for row in found["caps_tried"]}
    assert {seconds: row["kept"] for seconds, row in tried.items()} == {65: 10, 95: 20}
    for row in tried.values():
        met = peak_under(row["tasks"], row["forks"])
        assert met == (row["peak_bytes"], row["makespan_seconds"])
        assert (row["noisy_peak_bytes"] <= 28) is (row["kept"] == 20)
    assert found["nextflow"]["makespan_seconds"] == 95
    row = first_row(run("budget", *trace, "--quota", "28")[1])
    assert (
        "yes (20 of 20 noisy runs kept the quota; 10 with caps that take 65 s)" in row
    )


@pytest.fixture
def no_searches(monkeypatch):
    """Answer without the best plan and the curve, which take most of the time."""
    monkeypatch.setattr(answer, "EFFORT", answer.Effort(plan=1, curve=1, least_runs=8))


def test_a_yes_that_most_noisy_runs_break_is_not_safe(run, trace, no_searches):
    """With a limit of 18 bytes 2 of 20 runs keep them, with 14 all do: that is the line
    to paste. With 9, the least, sizes that are larger leave room for no task.
    """
    noise = ("--noise", "0", "--size-noise", "0.2")
    words = ("budget", *trace, *noise, "--quota")
    code, text, _ = run(*words, "18")
    assert code == 0 and first_row(text).startswith(
        "fits Nextflow: no caps found (least peak of 9 settings tried: 25 B; a quota "
        "of 33 B would do, noise included); with Snakemake and ioopt: "
        "yes, with a limit of 14 B (all 20 noisy runs kept the quota; 2 with a limit "
        "of 18 B); needs 18 B of 18 B; takes 2.083 min ("
    )
    line = text.rstrip().rpartition("\n")[2]
    assert line.startswith("--scheduler ioopt --scheduler-ioopt-disk-mb 14B ")
    found = asked(run, *trace, *noise, "--quota", "18")[1]
    fits = found["fits"]  # what the table says
    assert (fits["answer"], fits["safety"], fits["limit_bytes"]) == ("yes", "safe", 14)
    assert (fits["needs_bytes"], fits["takes_seconds"]) == (
        found["noise"]["plan_peak_bytes"],
        found["noise"]["plan_median_seconds"],
    )
    code, text, _ = run(*words, "9")
    assert code == 4 and "not safely (0 of 20 noisy runs kept the quota)" in (
        first_row(text)
    )
    found = asked(run, *trace, *noise, "--quota", "9")[1]
    runs = found["noise"]
    assert runs["plan_bytes"] is None and runs["safe_bytes"] >= 9
    assert found["fits"]["answer"] == "not safely"
    safe, limit = runs["safe_bytes"], runs["safe_plan_bytes"]
    assert first_row(text).endswith(
        f"no safe setting was found; the smallest quota tried that all keep is {safe} "
        f"B, with --scheduler ioopt --scheduler-ioopt-disk-mb {limit}B "
        f"--scheduler-ioopt-in-flight {found['setting']['in_flight']} "
        "--scheduler-ioopt-policy submission"
    )
    assert "not tried" not in text
    assert "\n--scheduler" not in text
    code, text, err = run(*words, "28", "--nextflow", "nf.config")
    assert code == 4 and "not written: few noisy runs keep the quota" in err
    assert first_row(text).startswith(
        "fits Nextflow: not safely (6 of 20 noisy runs kept the quota; the smallest "
        "quota tried that all keep is 33 B); with Snakemake and ioopt: yes (20 of 20 "
        "noisy runs kept the quota); needs "
    )
    assert not Path("nf.config").exists()
    code, found, _ = asked(run, *trace, *noise, "--quota", "28")
    assert (code, found["fits"]["way"], found["fits"]["safety"]) == (
        0,
        "setting",
        "safe",
    )


def test_a_larger_quota_keeps_the_safe_setting_of_a_smaller_one(run, trace):
    """With 12 and 13 bytes, fewer than all noisy runs keep the quota with the setting
    that is quickest by the record, whatever its limit; with one sample in flight all
    do.
    """
    ranks = []
    for quota in ("10", "11", "12", "13", "14", "15"):
        code, found, _ = asked(run, *RECORD, "--quota", quota)
        fits = found["fits"]
        assert code == (4 if fits["safety"] == "unsafe" else 0)
        ranks.append(("unsafe", "tight", "safe").index(fits["safety"]))
    assert ranks == sorted(ranks) == [0, 1, 2, 2, 2, 2]


def test_a_default_that_is_tight_gives_way_to_a_safe_setting(run, tmp_path):
    """Four samples of 10 bytes run at once on 4 cores by default. With 38 bytes three
    do, safely. With 41 the default keeps the quota in some noisy runs alone. Of one
    sample, no limit below the quota is safer than the default.
    """

    def samples(count):
        tasks = [
            {"id": f"T{k}", "compute_seconds": 10, "outputs": [f"t{k}"], "sample": k}
            for k in range(count)
        ]
        files = [{"id": f"t{k}", "bytes": 10} for k in range(count)]
        form = {"format": "ioopt/work-directory", "version": 1, "cores": 4}
        (tmp_path / "t.json").write_text(
            json.dumps(form | {"tasks": tasks, "files": files})
        )

    samples(4)
    for quota in ("38", "41"):
        code, found, _ = asked(run, "t.json", "--quota", quota)
        assert (code, found["fits"]["way"]) == (0, "setting")
        assert found["fits"]["safety"] == "safe" and found["lines"]
    samples(1)
    code, found, _ = asked(run, "t.json", "--quota", "11")
    assert (code, found["fits"]["way"]) == (0, "default")
    assert found["fits"]["safety"] == "tight" and found["setting"] is None


def test_a_plan_alone_is_no_yes(run, trace, monkeypatch):
    monkeypatch.setattr(answer.Inquiry, "ask_setting", lambda inquiry: None)
    words = ("budget", *trace, *EXACT, "--quota", "12")
    code, text, _ = run(*words)
    row = first_row(text)
    assert code == 4 and "; Snakemake and ioopt: no setting found, only a plan" in row
    assert "yes" not in row and "--scheduler" not in text
    found = asked(run, *words[1:])[1]
    assert (found["fits"]["answer"], found["fits"]["way"]) == ("plan only", "plan")


def test_tasks_that_ask_for_more_cores_are_in_the_first_row(run, trace):
    """The four TRIM ask for 8 of 4 cores, which Nextflow refuses without a limit."""
    words = ("budget", *trace, "--task-cpus", "TRIM=8", "--quota", "36")
    row = first_row(run(*words, "--nextflow", "nf.config")[1])
    assert ", with 4 cores for 4 tasks that asked for more; needs" in row
    assert "\nprocess.resourceLimits = [cpus: 4]\n" in Path("nf.config").read_text()
    run("budget", *trace, "--quota", "36", "--nextflow", "nf.config")
    assert "resourceLimits" not in Path("nf.config").read_text()


def test_a_yes_without_room_for_larger_files_is_no_yes(run, trace):
    """Unless stated, times differ by 0.3 and sizes by 0.1: 9 bytes, all that one sample
    needs, are too few then, and the plugin of Snakemake gets a larger limit.
    """
    code, found, _ = asked(run, *RECORD, "--quota", "9")
    assert code == 4 and found["doubt"] == {"times": 0.3, "sizes": 0.1}
    assert found["noise"]["kept"] < 10 and found["lines"] == []
    code, found, _ = asked(run, *RECORD, "--quota", "20")
    assert code == 0 and found["fits"]["way"] == "setting"
    assert found["noise"]["plan_bytes"] < 20 and found["lines"]
    # All 36 bytes fit together, but not if they are larger: the files are deleted.
    assert asked(run, *trace, "--quota", "40")[1]["noise"] is None
    assert asked(run, *RECORD, "--quota", "40")[1]["noise"]["sizes"] == 0.1


def test_noisy_runs_name_a_quota_that_all_of_them_keep():
    """Where larger sizes break the quota and leave room for no task with a smaller
    limit, the quota that is named holds all runs that are planned with the limit named.
    """
    problem = many_samples(150)
    setting = {"policy": "depth-first", "in_flight": 4}
    sizes = Noise(0.0, 0.2)
    told = noisy_runs(problem, setting, sizes, Deadline(None))
    assert told["kept"] < told["runs"] and told["plan_bytes"] is None
    limit = told["safe_plan_bytes"]
    runs = _runs_planned_with(limit, problem, setting, sizes, Deadline(None))
    assert len(runs) == 20 and all(run.seconds is not None for run in runs)
    assert max(run.peak for run in runs) <= told["safe_bytes"]


def test_caps_of_a_process_whose_name_ends_with_a_number_hold_in_noisy_runs():
    problem = chains(100, 2, {"ALIGN_2": (10, 10)})
    for other in (noise._drawn(problem, noise.USUAL, 0), reading_all(problem)):
        assert nextflow.processes(other) == ["ALIGN_2", "ALIGN_2"]


def test_no_limit_is_named_that_is_above_its_quota(monkeypatch):
    """Runs end only with 5 % more than the quota as limit, and then need less: the
    quota that is named holds the limit too.
    """

    def runs(limit, *_):
        return [noise.NoisyRun(60.0 if limit > 1000 else None, 990)] * 20

    monkeypatch.setattr(noise, "_runs_planned_with", runs)
    setting = {"policy": "depth-first", "in_flight": 4}
    told = noisy_runs(many_samples(1000), setting, Noise(0.0, 0.1), Deadline(None))
    assert told["safe_plan_bytes"] == told["safe_bytes"] == 1050


def test_the_limit_with_which_most_noisy_runs_keep_the_quota_is_named(monkeypatch):
    """With the quota none of four keeps it, with 90 % three do, and with less two: a
    run that gets stuck with each smaller limit leaves none with which all do.
    """
    stuck = noise.NoisyRun(None, 150)

    def runs(limit, problem, *_):
        done = {150: (0, 4), 135: (3, 0), 130: (2, 1)}.get(limit, (2, 0))
        kept = [noise.NoisyRun(60.0 + k, limit) for k in range(done[0])]
        over = [noise.NoisyRun(50.0, 166)] * done[1]
        return (kept + over + [stuck] * 4)[:4]

    monkeypatch.setattr(noise, "_runs_planned_with", runs)
    setting = {"policy": "depth-first", "in_flight": 4}
    told = noisy_runs(many_samples(150), setting, Noise(0.0, 0.1), Deadline(None))
    assert (told["kept"], told["plan_bytes"], told["plan_kept"]) == (0, 135, 3)
    assert (told["plan_peak_bytes"], told["plan_median_seconds"]) == (135, 61.0)


@pytest.mark.parametrize(("kept", "told"), [(20, "safe"), (10, "tight"), (9, "unsafe")])
def test_half_of_the_noisy_runs_must_keep_the_quota(kept, told):
    assert safety({"kept": kept, "runs": 20}) == told


def test_caps_are_tightened_until_all_noisy_runs_keep_the_quota(no_searches):
    """Caps that use 1,300 bytes let 6 HEAVY run, and most noisy runs break the quota;
    with 4 none does.
    """
    problem = many_samples(1300)
    assert choose_caps(problem, Deadline(None))["forks"] == {"HEAVY": 6}
    found = answer.answer(problem, Deadline(None), caps=True)
    assert found["nextflow"]["forks"] == {"HEAVY": 4}
    assert found["fits"]["way"] == "nextflow" and found["fits"]["safety"] == "safe"
    kept = {row["forks"]["HEAVY"]: row["kept"] for row in found["caps_tried"]}
    assert kept[6] < 10 and kept[4] == 20
    assert found["fits"]["needs_bytes"] == found["nextflow"]["peak_bytes"] <= 1300


def test_caps_that_all_noisy_runs_keep_are_not_lost_with_a_larger_quota(no_searches):
    """Eight samples of unlike sizes. With 1,440 bytes, caps that take 3,687 s are safe;
    with 1,542, none of those that are quickest by the record.
    """
    draw = random.Random(9)
    steps = {
        "QC": (None, 1, 100, 1),
        "TRIM": (None, 2, 200, 100),
        "ALIGN": ("TRIM", 6, 350, 130),
        "SORT": ("ALIGN", 3, 100, draw.choice([150, 220])),
        "MARK": ("SORT", 1, 230, draw.choice([60, 125])),
        "COUNT": ("SORT", 3, 120, 1),
    }
    tasks, files = [], []
    for sample in range(8):
        factor = draw.uniform(0.7, 1.5)
        for step, (before, cores, seconds, size) in steps.items():
            name = f"{step}{sample}"
            tasks.append(
                {
                    "id": f"{step} (s{sample})",
                    "compute_seconds": round(seconds * factor),
                    "cores": cores,
                    "inputs": [f"{before}{sample}"] if before else [],
                    "outputs": [name],
                }
            )
            files.append({"id": name, "bytes": round(size * factor)})

    given = {"cores": 16, "quota_bytes": 1542, "tasks": tasks, "files": files}
    problem = WorkDirectoryProblem.model_validate(given)
    problem = problem.model_copy(update={"meta": {"source": TRACE}})
    fits = answer.answer(problem, Deadline(None), caps=True)["fits"]
    assert (fits["way"], fits["safety"]) == ("nextflow", "safe")
    assert fits["takes_seconds"] <= 3687


def test_a_default_that_noisy_runs_break_gives_way_to_a_setting(
    monkeypatch, no_searches
):
    monkeypatch.setattr(answer, "safety", lambda noise: "unsafe")
    problem = many_samples(2020)
    problem = problem.model_copy(update={"meta": {"source": SNAKEMAKE}})
    found = answer.answer(problem, Deadline(None))
    assert found["fits"]["way"] == "setting" and found["noise"]["plan_bytes"] <= 2020
    assert found["setting"]["peak_bytes"] <= 2020


def test_a_number_of_bytes_is_asked_back(run, trace, tmp_path):
    made = QC | {"files": [{**file, "bytes": 10**6} for file in QC["files"]]}
    (tmp_path / "qc.json").write_text(json.dumps(made))
    row = first_row(run("budget", "qc.json", "--quota", "35")[1])
    assert "the quota is 35 B (did you mean --quota 35MB?); takes" in row
    row = first_row(run("budget", "qc.json", "--quota", "1MB")[1])
    assert "did you mean" not in row and " with a quota of " in row


def test_a_record_with_times_says_what_really_happened(run, tmp_path):
    """A starts at 5 s, and B, which reads 10 bytes of it, at 20 s. 10 + 3 bytes lie
    there until B ends at 24 s.
    """
    head = ["name", "hostname", "status", "submit", "start", "complete", "realtime"]
    rows = [[*head, "cpus", "rchar", "wchar"]]
    rows.append(["A", "n", "COMPLETED", "0", "5000", "15000", "10000", "1", "1", "10"])
    rows.append(["B", "n", "COMPLETED", "0", "20000", "24000", "4000", "1", "10", "3"])
    text = "\n".join("\t".join(row) for row in rows)
    (tmp_path / "trace.txt").write_text(text + "\n")
    (tmp_path / "dag.dot").write_text(
        'digraph "d" {\nv0 [label="A"];\nv1 [label="B"];\nv0 -> v1;\n}\n'
    )
    words = ("trace.txt", "--dag", "dag.dot", "--cores", "2", "--samples", "2")
    found = asked(run, *words)[1]
    assert found["observed"] == {
        "makespan_seconds": 19,
        "peak_bytes": 13,
        "undeleted_bytes": 13,
    }
    text = " ".join(run("budget", *words)[1].split())
    assert (
        "recorded 19 s; 13 B in work/ at its end if it deleted nothing; at most 13 B "
        "had files left after their last reader: the recorded run on its machine"
    ) in text


def test_what_is_stated_of_reads_is_no_assumption(run, trace, tmp_path):
    """MAP2 asked for 1 byte. With 8 bytes, one sample at a time fits if MAP2 reads its
    own bytes, 6, and does not if it reads what TRIM wrote, 6 + 3.
    """
    text = (tmp_path / "trace.txt").read_text()
    (tmp_path / "trace.txt").write_text(text.replace("\t20s\t1\t6\t", "\t20s\t1\t1\t"))
    words = ("budget", *trace, *EXACT, "--quota", "8")
    code, own, _ = run(*words, "--reads-own", "MAP*")
    assert code == 0 and "ioopt: yes, but no room left;" in first_row(own)
    assert "assumed" not in own
    code, every, _ = run(*words, "--reads-all", "MAP2")
    assert code == 3 and first_row(every).startswith("fits no; needs 9 B")
    code, _, err = run(*words, "--reads-own", "MAP")
    assert code == 2 and "--reads-own MAP: the trace has no such process" in err
    code, _, err = run(*words, "--reads-own", "MAP2", "--reads-all", "M*")
    assert code == 2 and "MAP2 is also given to --reads-all" in err
    (tmp_path / "qc.json").write_text(json.dumps(QC))
    code, _, err = run("budget", "qc.json", "--reads-all", "QC")
    assert code == 2 and "--reads-all QC: is for a trace" in err


def test_a_report_that_no_disk_holds_is_imported_by_what_it_reads(run, trace):
    """MAP2 (a) reads the 6 bytes of TRIM (a) and writes 30: a disk of 20 bytes is too
    small, and the cores are not.
    """
    text = Path("trace.txt").read_text().replace("s\t1\t6\t3", "s\t1\t6\t30")
    Path("trace.txt").write_text(text)
    words = ("import", "nextflow-trace", *trace[:3], "-o", "made.json", "--machine")
    machine = "nodes=1,cores=4,disk=20B,remote_rate=1MB/s"
    assert run(*words, machine)[0] == 0
    code, _, err = run("solve", "made.json")
    assert code == 2 and "takes 36 bytes of disk (most of a node: 20) (if it" in err
    assert "core" not in err and "with --reads-own MAP2); no node has all" in err
    own = ("--reads-own", "MAP2", "--reads-own", "CALL")
    code, _, err = run(*words, machine, *own)
    made = json.loads(Path("made.json").read_text())
    reads = {task["id"]: task["inputs"] for task in made["tasks"]}
    assert code == 0 and "TRIM (a) wrote" not in reads["MAP2 (a)"]


def test_what_the_time_limit_ended_is_in_the_first_row(run, monkeypatch):
    """A clock that moves one second at each reading ends all searches after one run."""
    monkeypatch.setattr("ioopt.options.now", iter(range(10**6)).__next__)
    words = ("budget", "directory-montage", "--time-limit", "3", "--nextflow", "x.cfg")
    row = first_row(run(*words)[1])
    assert "ended by --time-limit" in row
    for what in ("search of settings (", "search of plans", "search of the curve"):
        assert what in row
    assert "should do, or none" in row


def test_a_plot_without_matplotlib_is_refused_before_the_search(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(answer, "answer", lambda *told: pytest.fail("searched"))
    code, _, err = run("budget", "directory-montage", "--plot", "curve.png")
    assert code == 6 and "matplotlib" in err


def test_the_answer_without_a_time_limit_hangs_on_no_clock(run, trace, monkeypatch):
    words = ("budget", *trace, "--quota", "28", "--noise", "0.3")
    first = run(*words)[1]
    monkeypatch.setattr("ioopt.options.now", iter(range(0, 10**9, 50)).__next__)
    assert run(*words)[1] == first and "--time-limit" not in first


def test_what_is_asked_by_hand(run, trace, tmp_path):
    """All at once: 4 x (6 + 3) = 36 bytes, 35 s. A MAP2 holds 6 + 3
    = 9 bytes: the least.

    With 9, a TRIM (6) has room beside what a CALL holds (3 + 1) no
    more: 4 x 35 s = 140 s.
    """
    code, found, _ = asked(run, *trace, "--quota", "9", "--plot", "curve.svg")
    assert code == 0 and found["samples"] == 4
    assert found["least"] == {"found_bytes": 9, "bound_bytes": 9, "task": "MAP2 (a)"}
    free = found["unlimited"]
    assert (free["makespan_seconds"], free["peak_bytes"]) == (35, 36)
    at = found["at_quota"]
    assert (at["status"], at["makespan_seconds"], at["peak_bytes"]) == (
        "feasible",
        140,
        9,
    )
    assert (found["setting"]["in_flight"], found["setting"]["makespan_seconds"]) == (
        1,
        140,
    )
    assert [row["makespan_seconds"] for row in found["curve"]][-1] == 35
    assert "<svg" in (tmp_path / "curve.svg").read_text()
    words = ("import", "work-directory", *RECORD, "--quota", "9", "-o", "made.json")
    assert run(*words)[0] == 0 and run("check", "made.json")[0] == 0
    code, text, _ = run("budget", "made.json", *EXACT)
    assert code == 0 and "9 B (proven)" in text
    assert "2.333 min, peak 9 B, 4.00 x the time by default" in text
    assert first_row(text) == (
        "fits Nextflow: no caps found (least peak of 9 settings tried: 25 B); with "
        "Snakemake and ioopt: "
        "yes, but no room left; needs 9 B of 9 B; takes 2.333 min; options below (a "
        "sample = the tasks of one tag)"
    )
    table, _, line = text.rstrip().rpartition("\n")
    assert line.startswith("--scheduler ioopt") and line.endswith("-policy submission")
    assert max(map(len, table.splitlines())) <= 80
    assert "12 tasks, 4 samples in 1 copy of the run, 4 cores" in table


def first_row(text):
    """Return the first row of the printed answer as one line."""
    return " ".join(text.partition("workflow ")[0].split("─\n")[-1].split())


def test_a_quota_that_no_plan_keeps_is_exit_3(run, trace):
    """A MAP2 holds 9 bytes; the samples after each other take 4 x 35 s."""
    code, found, _ = asked(run, *trace, "--quota", "8")
    assert code == 3 and found["at_quota"]["status"] == "infeasible"
    assert found["fits"] == {
        "answer": "no",
        "way": None,
        "needs_bytes": 9,
        "takes_seconds": 140,
        "whatever_is_read": True,
        "safety": None,
        "limit_bytes": None,
    }
    code, text, _ = run("budget", *trace, "--quota", "8")
    assert code == 3 and first_row(text) == (
        "fits no; needs 9 B, and the quota is 8 B; takes 2.333 min with a quota of 9 B"
    )


@pytest.mark.parametrize(
    ("quota", "does"),
    [
        ("36", "so that each file is deleted after its last reader, put into"),
        ("39", "so that each file is deleted after its last reader, put into"),
        ("40", "nothing to set, even if no file is deleted"),
    ],
)
def test_no_setting_is_printed_where_the_default_fits(run, trace, quota, does):
    """By default 36 bytes are inside at once; all files together have 4 x 10."""
    words = ("budget", *trace, "--quota", quota)
    code, text, _ = run(*words)
    assert code == 0 and "--scheduler" not in text and "35 s" in text
    told = "yes (20 of 20 noisy runs kept the quota); needs 36 B"
    if quota == "40":
        told = "yes, but no room left; needs 40 B"
    told = f"Nextflow: {told} of {quota} B; takes 35 s; {does}"
    assert told in first_row(text)
    boost = "plugins { id 'nf-boost' }\nboost { cleanup = true }\n"
    assert text.endswith(boost) is (quota != "40")


def test_caps_for_nextflow_are_the_line_where_they_keep_the_quota(run, trace):
    words = ("budget", *trace, "--nextflow", "nf.config")
    code, text, _ = run(*words, "--quota", "28")
    assert code == 0 and first_row(text).endswith("run Nextflow with: -c nf.config")
    code, text, _ = run(*words, "--quota", "16")
    assert code == 4 and "; options below (a sample = " in first_row(text)
    assert text.rstrip().rpartition("\n")[2].startswith("--scheduler ioopt")
    assert "no caps found that keep the quota" in " ".join(text.split())


def test_a_trace_of_nextflow_is_answered_for_nextflow(run, trace, tmp_path):
    """Other records do not say which engine ran: both are named."""
    words = ("--quota", "28")
    code, text, _ = run("budget", *trace, *words)
    assert code == 0 and first_row(text).endswith(
        "write settings of Nextflow with --nextflow FILE"
    )
    (tmp_path / "qc.json").write_text(json.dumps(QC))
    code, text, _ = run("budget", "qc.json", *EXACT)
    assert code == 0 and first_row(text).endswith("(Nextflow: see --nextflow FILE)")


def test_without_a_quota_it_says_what_is_needed(run, trace):
    code, text, _ = run("budget", *trace)
    assert code == 0 and first_row(text) == (
        "fits no --quota given; needs 9 B at least; without a quota 36 B, or 40 B if "
        "no file is deleted"
    )


def peak_under(tasks, forks):
    """First in, first out, in steps of 5 s; at most *tasks* at once, and
    *forks* of a process.
    """
    queue = [("TRIM", sample) for sample in "abcd"]
    seconds, size = {p: s for p, s, _ in STEPS}, {p: w for p, _, w in STEPS}
    after, inside, running, now, peak = {"TRIM": "MAP2", "MAP2": "CALL"}, {}, {}, 0, 0
    while queue or running:
        for job in sorted(
            (job for job, end in running.items() if end == now), key=lambda j: j[1]
        ):
            del running[job]
            before = [p for p, other in after.items() if other == job[0]]
            for p in before:
                del inside[p, job[1]]
            if job[0] in after:
                queue.append((after[job[0]], job[1]))
            else:
                del inside[job]
        for job in list(queue):
            of_it = sum(other[0] == job[0] for other in running)
            if len(running) < min(tasks, 4) and of_it < forks.get(job[0], 4):
                queue.remove(job)
                running[job], inside[job] = now + seconds[job[0]], size[job[0]]
        peak, now = max(peak, sum(inside.values())), now + 5
    return peak, now - 5


@pytest.mark.parametrize("quota", [28, 31, 36])
def test_a_nextflow_config_does_what_is_said(run, trace, tmp_path, quota):
    code, found, _ = asked(
        run, *trace, "--quota", str(quota), "--nextflow", "nf.config"
    )
    assert code == 0
    text = (tmp_path / "nf.config").read_text()
    forks = {
        name: int(cap) for name, cap in re.findall(r"'(\w+)' \{ maxForks = (\d+)", text)
    }
    tasks = int((re.findall(r"queueSize = (\d+)", text) or [4])[0])
    met = found["nextflow"]
    assert peak_under(tasks, forks) == (met["peak_bytes"], met["makespan_seconds"])
    assert met["peak_bytes"] <= quota and "boost { cleanup = true }" in text


def test_a_nextflow_config_says_how_many_noisy_runs_kept_the_quota(run, trace):
    for quota, kept in (("26", 10), ("27", 20)):
        assert (
            run("budget", *trace, "--quota", quota, "--nextflow", "nf.config")[0] == 0
        )
        text = Path("nf.config").read_text()
        told = f"// With other times and sizes, {kept} of 20 runs kept the quota of "
        assert f"{told}{quota} B,\n// with at most 27 B in work/.\n" in text
        tight = "// Tight: the smallest quota tried that all runs keep is 27 B.\n"
        assert (tight in text) is (kept < 20)


@pytest.mark.parametrize(("quota", "boost"), [(36, True), (40, False)])
def test_where_no_caps_are_needed_none_are_written(run, trace, tmp_path, quota, boost):
    words = ("budget", *trace, "--quota", str(quota))
    code, text, _ = run(*words, "--nextflow", "nf.config")
    assert code == 0 and first_row(text).endswith("run Nextflow with: -c nf.config")
    assert "takes 35 s" in first_row(text) and text.endswith("\n-c nf.config\n")
    written = (tmp_path / "nf.config").read_text()
    assert "maxForks" not in written and "queueSize =" not in written
    assert ("boost { cleanup = true }" in written) is boost
    assert f"at most {quota} B in work/" in written and "cpus = 4" in written


def test_ids_of_the_pipeline_stand_in_the_block_that_replaces_its_own(run, trace):
    words = ("budget", *trace, "--quota", "36", "--nextflow", "nf.config")
    _, _, err = run(*words)
    assert "nf.config replaces the pipeline's plugins block: copy its ids" in err
    text = Path("nf.config").read_text()
    assert "plugins {\n    id 'nf-boost'\n}\n" in text
    assert "'copy' or 'move'" in text and "-resume makes deleted files again" in text
    assert "in one job of 4 cores" in text
    ids = "nf-schema@2.1.1, nf-boost@0.6.0"
    _, _, err = run(*words, "--nextflow-plugins", ids)
    assert "plugins block" not in err
    block = "plugins {\n    id 'nf-schema@2.1.1'\n    id 'nf-boost@0.6.0'\n}\n"
    assert block in Path("nf.config").read_text()
    code, _, err = run(*words, "--nextflow-plugins", "nf-schema@2.1.1,'")
    assert code == 2 and """--nextflow-plugins: "'" is no id of a plugin""" in err
    code, _, err = run(*words[:-2], "--nextflow-plugins", ids)
    assert code == 2 and "give --nextflow FILE" in err
    _, _, err = run(*words[:-2])
    assert "into the one that the pipeline has" in " ".join(err.split())


# LIGHT writes 1 byte, and HEAVY 100; each of 20 samples runs LIGHT, HEAVY and END, one
# byte, for 10 s each on 20 cores. By default all 20 HEAVY run at once: 2,020 bytes.
def many_samples(quota):
    return chains(quota, 20, {"LIGHT": (1, 10), "HEAVY": (100, 10), "END": (1, 10)})


def chains(quota, count, steps):
    """Return *count* samples on as many cores; each runs *steps*, which are the bytes
    and seconds of processes, one after the other.
    """
    tasks = []
    files = []
    for sample in range(count):
        before = None
        for step, (size, seconds) in steps.items():
            name = f"{step}{sample}"
            inputs = [before] if before else []
            tasks.append(
                {
                    "id": f"{step} (s{sample})",
                    "compute_seconds": seconds,
                    "inputs": inputs,
                    "outputs": [name],
                }
            )
            files.append({"id": name, "bytes": size})
            before = name
    return WorkDirectoryProblem.model_validate(
        {"cores": count, "quota_bytes": quota, "tasks": tasks, "files": files}
    ).model_copy(update={"meta": {"source": TRACE}})


def test_a_cap_of_all_tasks_of_a_process_is_none(monkeypatch):
    """END has 20 tasks: a cap of 20 forbids nothing."""
    monkeypatch.setattr(
        nextflow.Search,
        "quickest",
        lambda search, *_: search.run(20, {"HEAVY": 3, "END": 20}),
    )
    assert choose_caps(many_samples(700), Deadline(None))["forks"] == {"HEAVY": 3}


@pytest.mark.parametrize(("quota", "heavy"), [(700, 3), (1300, 6)])
def test_caps_are_loosened_until_the_quota_is_used(quota, heavy):
    """The process that writes most alone has a cap: with HEAVY = k, 2 k of its outputs
    lie there at once, k written and k read by END, beside 20 bytes of LIGHT at most.
    """
    caps = choose_caps(many_samples(quota), Deadline(None))
    assert caps["tasks"] == 20 and caps["forks"] == {"HEAVY": heavy}
    assert caps["makespan_seconds"] == 10 * (math.ceil(20 / heavy) + 2)
    assert quota - 200 < caps["peak_bytes"] <= quota


def test_no_quota_is_refused_that_is_above_the_peak_of_caps():
    """MAKE alone with maxForks 1 holds 5 of its 8 files. A cap of 1 on USE too keeps 7,
    because files wait for their reader: tighter caps have a larger peak.
    """
    steps = {"PREP": (1, 1), "MAKE": (100, 10), "USE": (1, 30), "END": (1, 1)}
    met = {}
    for quota in range(50, 900, 25):
        caps = choose_caps(chains(quota, 8, steps), Deadline(None))
        met[quota] = caps["peak_bytes"]
    kept = [(peak, quota) for quota, peak in met.items() if peak <= quota]
    refused = [quota for quota, peak in met.items() if peak > quota]
    assert met[600] <= 600 and met[50] > 50
    assert not [q for q in refused for peak, above in kept if peak <= q <= above]


def test_the_search_for_caps_is_counted(monkeypatch):
    runs = []
    simulate = nextflow.dispatch
    monkeypatch.setattr(nextflow, "MOST_RUNS", 4)
    monkeypatch.setattr(
        nextflow, "dispatch", lambda *told: runs.append(told) or simulate(*told)
    )
    choose_caps(many_samples(700), Deadline(None))
    assert 4 <= len(runs) <= 6  # A search that is over may still ask for its first run.


def test_slow_caps_name_the_time_of_the_dispatcher(run, trace):
    """By default 35 s. Caps that keep 28 bytes take 65 s; the dispatcher takes 60."""
    row = first_row(run("budget", *trace, *EXACT, "--quota", "28")[1])
    assert "takes 65 s (1.9 x the default; Snakemake and ioopt: 60 s); write" in row


def test_caps_that_keep_too_small_a_quota_are_not_written(run, trace, tmp_path):
    """First in, first out, samples are begun before others end, whatever is capped."""
    code, found, err = asked(run, *trace, "--quota", "16", "--nextflow", "nf.config")
    assert code == 4 and "not written" in err
    met = found["nextflow"]
    assert peak_under(met["tasks"], met["forks"]) == (
        met["peak_bytes"],
        met["makespan_seconds"],
    )
    assert met["peak_bytes"] > 16
    assert not (tmp_path / "nf.config").exists()
    assert found["undeleted_bytes"] == 40
    assert "batches" not in found and found["at_quota"]["makespan_seconds"] <= 140


def test_without_a_dag_nothing_is_called_proven(run, trace, tmp_path):
    """Twelve tasks that seem to wait for none: the largest, TRIM with 6 bytes,
    would do; with the DAG 9. All 12 write 40 bytes, which fit in any order
    into 45 bytes, also if they are exp(.1) times as large.
    """
    words = ("trace.txt", "--cores", "4", "--quota", "39")
    _, text, _ = run("budget", *words)
    assert "6 B (if tasks were independent)" in text and "--dag FILE" in text
    known = "fits not known without --dag: yes, if tasks were independent; needs"
    assert first_row(text).startswith(known)
    code, least, _ = run("budget", *words[:4], "5")
    assert code == 3
    assert first_row(least).startswith("fits no, even if tasks were independent; needs")
    assert "proven" not in text and "optimal" not in text and "lower bound" not in text
    code, found, _ = asked(run, *words, "--nextflow", "nf.config")
    assert code == 4 and found["independent"]
    assert found["fits"]["answer"] == "depends"
    code, all_fit, _ = run("budget", *words[:4], "45")
    known = "fits yes, in any order of the tasks; needs 40 B of 45 B; takes"
    assert code == 0 and first_row(all_fit).startswith(known)
    assert "if tasks were independent; nothing to set" in first_row(all_fit)
    assert {row["status"] for row in found["curve"]} <= {
        "feasible",
        "infeasible",
        "unknown",
    }
    assert "if tasks were independent" in (tmp_path / "nf.config").read_text()
    assert not asked(run, *trace, "--quota", "40")[1]["independent"]


def test_a_process_that_the_dag_lacks_is_named(run, trace, tmp_path):
    (tmp_path / "dag.dot").write_text(DAG.replace('"MAP2"', '"OTHER"'))
    text = run("budget", *trace, "--quota", "39")[1]
    known = "fits not known, as the DAG does not name MAP2: yes, if tasks were"
    assert first_row(text).startswith(known)
    assert "without --dag" not in text and "has no DAG" not in text
    assert asked(run, *trace, "--quota", "39")[1]["not_in_dag"] == ["MAP2"]


def test_the_config_is_written_before_the_table(run, trace, tmp_path, monkeypatch):
    """A pipe such as to ``head`` may be closed while the table is printed."""
    words = ("budget", *trace, "--quota", "28", "--nextflow", "nf.config")
    assert run(*words)[2].endswith("wrote nf.config\n")
    assert "wrote" not in run("-q", *words)[2]
    written = (tmp_path / "nf.config").read_text()
    (tmp_path / "nf.config").unlink()
    monkeypatch.setattr("ioopt.cli.budget._print", closed)
    assert run(*words)[0] == 2
    assert (tmp_path / "nf.config").read_text() == written


def test_a_config_that_cannot_be_written_leaves_the_answer(run, trace):
    words = ("budget", *trace, "--quota", "28", "--nextflow", "no/nf.config")
    code, text, err = run(*words)
    assert code == 2 and "no/nf.config: cannot be written" in err and "fits" in text


def closed(*_):
    raise UsageError("the pipe is closed")


def test_cores_that_are_not_recorded_are_assumed_and_told(run, trace, tmp_path):
    """MAP2 (a) was busy for 1.95 of its seconds, TRIM for less than one, and CALL has
    no %cpu: the answer is that of a trace with 2, 1 and 1 cpus, if so.
    """
    text = (tmp_path / "trace.txt").read_text()
    recorded = text.replace("\t20s\t1\t", "\t20s\t2\t")
    (tmp_path / "trace.txt").write_text(recorded)
    words = (*trace, "--quota", "28")
    with_cpus = asked(run, *words)[1]
    assert with_cpus["assumed_cores"] == []
    shares = (("10s\t1", "10s\t105%"), ("20s\t1", "20s\t30%"), ("5s\t1", "5s\t-"))
    for row, share in shares:
        text = text.replace(f"\t{row}\t", f"\t{share}\t")
    text = text.replace(
        "MAP2 (a)\tCOMPLETED\t20s\t30%", "MAP2 (a)\tCOMPLETED\t20s\t195"
    )
    (tmp_path / "trace.txt").write_text(text.replace("\tcpus\t", "\t%cpu\t"))
    found = asked(run, *words)[1]
    rows = [tuple(row.values()) for row in found.pop("assumed_cores")]
    assert rows == [("MAP2", 4, 2, True), ("TRIM", 4, 1, True), ("CALL", 4, 1, False)]
    assert found["unlimited"] == with_cpus["unlimited"]
    assert found["nextflow"] == with_cpus["nextflow"]
    code, told, _ = run("budget", *words, "--nextflow", "nf.config")
    told = " ".join(told.split())
    assert code == 0 and ", if 12 tasks take the cores assumed; needs" in told
    assert "or 1 without it: MAP2 2, TRIM 1, CALL 1; state them" in told
    assert "assumed" in first_row(run("budget", *trace)[1])
    assert "optimal" not in told
    config = (tmp_path / "nf.config").read_text().replace("\n//", "")
    assert "which tasks may exceed: MAP2 2, TRIM 1, CALL" in config
    stated = ("--task-cpus", "MAP?=2", "--task-cpus", "TRIM=1", "--task-cpus", "CALL=1")
    assert asked(run, *words, *stated)[1] == with_cpus


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("MAP2",), "--task-cpus MAP2: wanted PROCESS=N, N at least 1"),
        (("MAP2=0",), "--task-cpus MAP2=0: wanted PROCESS=N"),
        (("MAP=2",), "--task-cpus MAP: the trace has no such process; meant MAP2?"),
        (("MAP2=2", "M*=3"), "--task-cpus M*=3: MAP2 is also given 2"),
    ],
)
def test_cores_that_cannot_be_meant_are_refused(run, trace, given, why):
    options = [word for text in given for word in ("--task-cpus", text)]
    code, _, err = run("budget", *trace, *options)
    assert code == 2 and why in err


KEPT = {
    "format": "ioopt/work-directory",
    "version": 1,
    "name": "kept",
    "cores": 2,
    "quota_bytes": 25,
    "tasks": [
        {"id": x, "compute_seconds": 10, "outputs": [x], "scratch_bytes": 5}
        for x in "AB"
    ],
    "files": [{"id": x, "bytes": 10, "keep": True} for x in "AB"],
}
QC = {
    "format": "ioopt/work-directory",
    "version": 1,
    "name": "qc",
    "cores": 2,
    "quota_bytes": 21,
    "tasks": [
        {
            "id": f"A{k}",
            "compute_seconds": 10,
            "outputs": [f"a{k}"],
            "sample": f"s{k}",
            "scratch_bytes": 6,
        }
        for k in (1, 2, 3)
    ]
    + [
        {
            "id": "QC",
            "compute_seconds": 1,
            "inputs": ["a1", "a2", "a3"],
            "outputs": ["report"],
        }
    ],
    "files": [{"id": f"a{k}", "bytes": 5} for k in (1, 2, 3)]
    + [{"id": "report", "bytes": 1}],
}


@pytest.mark.parametrize(
    ("given", "least", "undeleted"), [(KEPT, 25, 30), (QC, 21, 34)]
)
def test_no_row_is_below_what_every_plan_needs(run, tmp_path, given, least, undeleted):
    """Kept: 10 stay, then 10 + 5 more: 25. One report of three: 5 + 5 stay,
    then 5 + 6 more: 21. All files and all scratch: 2 x 15, and 3 x 11 + 1.
    """
    (tmp_path / "given.json").write_text(json.dumps(given))
    code, found, _ = asked(run, "given.json", *EXACT, "--nextflow", "nf.config")
    assert (
        code == 0 and found["least"]["found_bytes"] == least and "batches" not in found
    )
    assert found["undeleted_bytes"] == undeleted
    for row in found["curve"]:
        assert (row["makespan_seconds"] is None) is (row["quota_bytes"] < least)
        assert (
            row["makespan_seconds"] is None
            or least <= row["peak_bytes"] <= row["quota_bytes"]
        )


def test_noisy_runs_count_the_bytes_that_are_real(run, trace):
    """With true sizes no run exceeds the quota; with others one that is
    planned with less keeps it.
    """
    words = (*trace, "--quota", "18", "--noise", "0.3")
    exact = asked(run, *words)[1]["noise"]
    assert exact["runs"] == 20 and exact["peak_bytes"] <= exact["plan_bytes"] == 18
    noise = asked(run, *words, "--size-noise", "0.2")[1]["noise"]
    assert noise["peak_bytes"] > 18 and 9 <= noise["plan_bytes"] < 18


@pytest.mark.parametrize("limit", ["0.02", "0.3"])
def test_nothing_is_slower_than_a_run_that_is_known(run, limit):
    """Also in no time: the order of submission keeps the peak it has,
    and whatever is larger.
    """
    words = ("directory-montage", "--time-limit", limit, "--nextflow", "nf.config")
    found = json.loads(run("budget", *words, "--format", "json")[1])
    runs = [found[key] for key in ("unlimited", "setting", "nextflow") if found[key]]
    rows = [*found["curve"], {**found["at_quota"], "quota_bytes": found["quota_bytes"]}]
    times = [row["makespan_seconds"] or math.inf for row in rows]
    assert times[:-1] == sorted(times[:-1], reverse=True)
    assert any(row["quota_bytes"] == found["least"]["found_bytes"] for row in rows)
    for row, seconds in zip(rows, times, strict=True):
        known = [
            run["makespan_seconds"]
            for run in runs
            if run["peak_bytes"] <= row["quota_bytes"]
        ]
        assert row["bound"] <= seconds <= min(known, default=math.inf)
        assert (seconds < math.inf) is (
            row["quota_bytes"] >= found["least"]["found_bytes"]
        )


def test_rows_take_runs_of_the_dispatcher_and_bounds_of_larger_quotas(monkeypatch):
    """A search without time leaves one task after the other, 600 s, and bounds of 0,
    but one of 32 s. With 202 bytes two samples run at once: 10 times 30 s; and so on.
    """

    def no_time(problem, request, quotas, *told):
        rows = []
        for quota in quotas:
            row = {"quota_bytes": quota, "makespan_seconds": 600.0, "peak_bytes": 101}
            rows.append({**row, "bound": 0.0, "status": "feasible"})
        rows[-2]["bound"] = 32.0
        return rows

    monkeypatch.setattr(answer, "frontier", no_time)
    curve = answer.answer(many_samples(None), Deadline(60))["curve"]
    least, *others = curve
    assert least["quota_bytes"] == 101
    times = [row["makespan_seconds"] for row in others]
    assert times == [300, 150, 90, 70, 60, 30]
    assert curve[-1]["makespan_seconds"] == curve[-1]["bound"] == 30
    assert curve[-1]["status"] == "optimal"
    assert all(row["bound"] == 32 for row in curve[:-1])


def test_copies_are_what_the_options_count_as_samples(run, trace, tmp_path):
    """Two copies of four samples; those of an imported instance count on."""
    words = ("--quota", "9")
    text = " ".join(run("budget", *trace, "--copies", "2", *words)[1].split())
    assert "24 tasks, 8 samples in 2 copies of the run, 4 cores" in text
    assert "in-flight 1" in text and "(a sample = the tasks of one tag)" in text
    words = ("import", "work-directory", *RECORD, "--copies", "2", "-o", "made.json")
    assert run(*words)[0] == 0
    found = asked(run, "made.json", "--copies", "2")[1]
    assert (found["tags"], found["copies"], found["tasks"]) == (4, 4, 48)
    assert found["samples"] == 16


ONCE = (
    ("INDEX (ref)", 10, 100, 100),
    ("MAP (a)", 4, 7, 101),
    ("MAP (b)", 6, 9, 101),
    ("MULTIQC", 3, 5, 16),
)
"""Two samples, an index and a report: task, seconds, bytes written, bytes read."""


@pytest.fixture
def once(tmp_path):
    rows = ["name\tstatus\trealtime\tcpus\trchar\twchar"]
    rows += [f"{name}\tCOMPLETED\t{s}s\t1\t{r}\t{w}" for name, s, w, r in ONCE]
    (tmp_path / "trace.txt").write_text("\n".join(rows) + "\n")
    (tmp_path / "dag.dot").write_text(
        'digraph "d" {\nv0 [label="INDEX"];\nv1 [label="MAP"];\n'
        'v2 [label="MULTIQC"];\nv0 -> v1;\nv1 -> v2;\n}\n'
    )
    return (*RECORD, "--scratch", "1")


def test_more_samples_share_what_was_made_once(run, once, tmp_path):
    """Four samples: one index of 100 bytes feeds 4 MAPs, and MULTIQC reads all of them.

    It takes 2 x 3 s and writes 2 x 5 bytes. All MAPs run at once on 4 cores, so the run
    takes 10 + 6 + 6 s. Its peak, with scratch as large as the outputs: 100 of the index
    and 2 x (7 + 9 + 7 + 9) bytes, while the index itself took 200.
    """
    words = ("import", "work-directory", *once, "--samples", "2", "-o", "made.json")
    assert run(*words)[0] == 0
    made = json.loads((tmp_path / "made.json").read_text())
    tasks = {task["id"]: task for task in made["tasks"]}
    maps = ["MAP (a)#1", "MAP (b)#1", "MAP (a)#2", "MAP (b)#2"]
    assert list(tasks) == ["INDEX (ref)", *maps, "MULTIQC"]
    sizes = {file["id"]: file["bytes"] for file in made["files"]}
    outputs = {name: task["outputs"] for name, task in tasks.items()}
    written = {name: sum(sizes[f] for f in outputs[name]) for name in tasks}
    assert list(written.values()) == [100, 7, 9, 7, 9, 10]
    assert [task["compute_seconds"] for task in tasks.values()] == [10, 4, 6, 4, 6, 6]
    assert [task["scratch_bytes"] for task in tasks.values()] == [*written.values()]
    assert all(tasks[name]["inputs"] == outputs["INDEX (ref)"] for name in maps)
    read = {file for name in maps for file in outputs[name]}
    assert {*tasks["MULTIQC"]["inputs"]} == read
    samples = [task.get("sample") for task in tasks.values()]
    assert samples == [None, "a#1", "b#1", "a#2", "b#2", None]

    found = asked(run, *once, "--samples", "2")[1]
    assert (found["tasks"], found["samples"], found["copies"]) == (6, 4, 1)
    assert found["more_samples"] == {
        "factor": 2,
        "once": [
            {"process": "INDEX", "tasks": 1, "bytes": 100, "gathers": False},
            {"process": "MULTIQC", "tasks": 1, "bytes": 10, "gathers": True},
        ],
    }
    free = found["unlimited"]
    assert (free["makespan_seconds"], free["peak_bytes"]) == (22, 200)
    text = " ".join(run("budget", *once, "--samples", "2")[1].split())
    assert "samples x2: 6 tasks, 4 samples, 2 times those of the record, 4" in text
    assert (
        "once INDEX (1): 100 B; with 2 times the recorded bytes and seconds, as they "
        "wait for samples: MULTIQC (1): 10 B"
    ) in text
    found = asked(run, "made.json", "--samples", "3")[1]
    assert (found["tasks"], found["more_samples"]["factor"]) == (14, 6)
    assert found["more_samples"]["once"][1]["bytes"] == 30


def test_copies_of_more_samples_are_not_noted_as_tasks_without_a_sample(run, once):
    """The record has one INDEX and one MULTIQC, and each copy its own."""
    words = (*once, "--samples", "2", "--copies", "3")
    assert "name no sample and" not in asked(run, *words)[2]


def made_larger(tasks, files):
    form = {"format": "ioopt/work-directory", "version": 1, "cores": 1}
    tasks = [{"compute_seconds": 1} | task for task in tasks]
    return json.dumps(form | {"tasks": tasks, "files": files})


SAMPLE = {"id": "a", "outputs": ["f"], "sample": "x"}


@pytest.mark.parametrize(
    ("other", "size", "told"),
    [
        ({"id": "a#1", "outputs": ["g"]}, 5, "task 'a#1' has the name that a copy of"),
        ({"id": "b", "outputs": ["f#1"]}, 5, "file 'f#1' has the name that a copy of"),
        (
            {"id": "b", "inputs": ["f"], "compute_seconds": 6e9},
            5,
            "'b' with all samples: at most 1e+10 seconds, not 1.2e+10",
        ),
        (
            {"id": "b", "inputs": ["f"], "scratch_bytes": 6 * 10**17},
            5,
            "'b' with all samples: at most 1e+18 scratch bytes, not 1.2e+18",
        ),
        (
            {"id": "b", "inputs": ["f"], "outputs": ["g"]},
            6 * 10**17,
            "'g' with all samples: at most 1e+18 bytes, not 1.2e+18",
        ),
    ],
)
def test_more_samples_that_make_no_instance_are_refused(
    run, tmp_path, other, size, told
):
    files = [{"id": name, "bytes": 5} for name in ("f", "f#1")]
    files = [file for file in files if file["id"] in ["f", *other.get("outputs", ())]]
    files.append({"id": "g", "bytes": size})
    (tmp_path / "i.json").write_text(made_larger([SAMPLE, other], files))
    words = ("import", "work-directory", "i.json", "--samples", "2", "-o", "made.json")
    code, _, err = run(*words)
    assert code == 2 and told in err and err.count("\n") == 1
    assert not (tmp_path / "made.json").exists()


def test_copies_copy_what_was_made_once(run, once):
    found = asked(run, *once, "--copies", "2")[1]
    assert (found["tasks"], found["samples"], found["copies"]) == (8, 4, 2)
    assert found["more_samples"] is None
    found = asked(run, *once, "--samples", "2", "--copies", "3")[1]
    assert (found["tasks"], found["samples"], found["copies"]) == (18, 12, 3)


def test_samples_that_the_record_does_not_tell(run, once, tmp_path):
    """Without tags the whole run is copied, and a note says so."""
    text = (tmp_path / "trace.txt").read_text()
    text = text.replace("MAP (a)", "MAP (1)").replace("MAP (b)", "MAP (2)")
    (tmp_path / "trace.txt").write_text(text.replace(" (ref)", ""))
    code, found, err = asked(run, *once, "--samples", "2")
    assert (code, found["tasks"], found["copies"]) == (0, 8, 2)
    assert found["more_samples"] is None
    told = "for): --samples 2 copies the whole run, what it made once too (or state"
    assert told in " ".join(err.split())
    assert "does not tell" not in asked(run, *once, "--copies", "2")[2]


def test_a_process_of_several_tasks_without_a_sample_is_named(run, once, tmp_path):
    rows = (tmp_path / "trace.txt").read_text()
    more = "PLOT (1)\tCOMPLETED\t1s\t1\t1\t1\nPLOT (2)\tCOMPLETED\t1s\t1\t1\t1\n"
    (tmp_path / "trace.txt").write_text(rows + more)
    dag = (tmp_path / "dag.dot").read_text()
    (tmp_path / "dag.dot").write_text(dag.replace("}", 'v3 [label="PLOT"];\n}'))
    words = (*once, "--quota", "1kB")
    code, found, _ = asked(run, *words, "--samples", "2")
    assert code == 4 and found["fits"]["answer"] == "depends"
    (row,) = found["no_sample"]
    assert (row["process"], row["tasks"]) == ("PLOT", 2)
    told = first_row(run("budget", *words, "--samples", "2")[1])
    assert told.startswith("fits Nextflow: not known: yes, if 2 ")
    assert (
        "if 2 recorded tasks of PLOT (2) belong to no sample: state it (--once PLOT), "
        "or copy the whole run (--copies 2)" in told
    )
    code, stated, _ = asked(run, *words, "--samples", "2", "--once", "PLOT")
    assert code == 0 and stated["fits"]["answer"] == "yes"
    assert stated["tasks"] == found["tasks"]
    assert asked(run, *words)[1]["no_sample"] == []
    for more, said in (
        (("--once", "PLOT"), "is for --samples N"),
        (("--samples", "2", "--once", "NONE"), "has no such process"),
    ):
        code, _, err = run("budget", *words, *more)
        assert code == 2 and said in err


def test_a_process_stated_once_has_no_samples(run, once):
    """MAP has the two samples; stated once, no sample is left to copy."""
    code, found, _ = asked(run, *once, "--samples", "2", "--once", "MAP")
    assert code == 0 and found["more_samples"] is None and found["copies"] == 2


@pytest.mark.parametrize(
    ("names", "samples"),
    [
        (["INDEX (ref)", "TRIM (a)", "TRIM (b)", "QC (all)", "SUM"], {"a", "b"}),
        (["INDEX (1)", "TRIM (a)", "TRIM (b)", "QC (-)", "SUM (2)"], {"a", "b"}),
        (["INDEX", "TRIM (1)", "TRIM (2)", "QC (1)", "SUM"], set()),
        # The tag of an index is that of no sample, though no other is named.
        (["INDEX (ref)", "TRIM (1)", "TRIM (2)", "QC (1)", "SUM"], set()),
    ],
)
def test_tags_that_name_samples(run, tmp_path, names, samples):
    """INDEX writes for both TRIM, QC reads both, SUM reads QC."""
    rows = ["name\tstatus\trealtime\tcpus\trchar\twchar"]
    rows += [f"{name}\tCOMPLETED\t1s\t1\t90\t9" for name in names]
    (tmp_path / "trace.txt").write_text("\n".join(rows) + "\n")
    steps = ("INDEX", "TRIM", "QC", "SUM")
    dag = "".join(f'v{k} [label="{name}"];\n' for k, name in enumerate(steps))
    joins = "v0 -> v1;\nv1 -> v2;\nv2 -> v3;\n"
    (tmp_path / "dag.dot").write_text('digraph "d" {\n' + dag + joins + "}\n")
    words = ("trace.txt", "--dag", "dag.dot", "--cores", "2", "-o", "made.json")
    assert run("import", "work-directory", *words)[0] == 0
    made = json.loads((tmp_path / "made.json").read_text())
    assert {task.get("sample") for task in made["tasks"]} - {None} == samples
    assert made["meta"]["tags"] == len(samples)


def test_import_copies_and_scratch(run, trace, tmp_path):
    """A tag of each copy is a sample; scratch of half the outputs, rounded up."""
    words = ("--samples", "2", "--quota", "1kB", "--scratch", "0.5", "-o", "x.json")
    assert run("import", "work-directory", *RECORD, *words)[0] == 0
    made = json.loads((tmp_path / "x.json").read_text())
    assert (made["quota_bytes"], made["cores"], len(made["tasks"])) == (1000, 4, 24)
    samples = {f"{tag}#{copy}" for tag in "abcd" for copy in (1, 2)}
    assert {task["sample"] for task in made["tasks"]} == samples
    assert [task["scratch_bytes"] for task in made["tasks"][:3]] == [3, 2, 1]
    assert run("import", "work-directory", *RECORD, "-o", "y.json")[0] == 0
    made = json.loads((tmp_path / "y.json").read_text())
    assert {task["sample"] for task in made["tasks"]} == {*"abcd"}


def test_simulate_with_other_compute_seconds(run, tmp_path):
    """S, X, N start at 0, 5 and 6 s: N ends at 15 s, or at 7 s where it takes 1.
    A start never moves.
    """
    assert (
        run("solve", "directory-wait", "--solver", "in-flight", "-o", "plan.json")[0]
        == 0
    )
    for actual, code, told in (
        ({"N": 1}, 0, 7),
        ({"S": 1}, 0, 15),
        ({"X": 2}, 5, "'X', which"),
    ):
        (tmp_path / "actual.json").write_text(json.dumps(actual))
        words = (
            "directory-wait",
            "plan.json",
            "--actual",
            "actual.json",
            "--format",
            "json",
        )
        found, out, err = run("simulate", *words)
        assert found == code, actual
        assert (
            told in err
            if code
            else json.loads(out)["metrics"]["makespan_seconds"] == told
        )
    assert run("simulate", "directory-wait", "plan.json", "--link", "shared")[0] == 2
