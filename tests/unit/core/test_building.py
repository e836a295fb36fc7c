"""Builders of instances, and results that draw, write and show themselves."""

import gzip
import json
import re
from itertools import product

import pytest

import ioopt
from ioopt import registry
from ioopt.cli.main import main
from ioopt.errors import InstanceError, IooptError, UsageError
from ioopt.pictures import draw_beside


def two_steps():
    """120 MB at 10 MB/s, 12 s; washing 30 s; then four tasks of 8 s.
    One node of four cores.
    """
    batch = ioopt.Batch(remote="10MB/s", replica="100MB/s", name="steps")
    batch.add_node(cores=4, disk="1GB")
    raw, clean = batch.add_file("120MB", "raw"), batch.add_file("60MB", "clean")
    batch.add_task("30s", "wash", inputs=[raw], outputs=[clean])
    for _ in range(4):
        batch.add_task("8s", inputs=[clean])
    return batch


def test_a_batch_is_the_instance_written_out():
    built = two_steps().build()
    assert built == ioopt.load(built.model_dump(mode="json"))
    said = "Batch(1 node, 2 files, 5 tasks; remote 10 MB/s, replica 100 MB/s)"
    assert repr(two_steps()) == said
    assert [task.id for task in built.tasks] == ["wash", "t1", "t2", "t3", "t4"]
    assert built.nodes[0].disk_bytes == 1_000_000_000 and built.is_workflow
    # 12 s of link, 30 s of washing, then four tasks at once on four cores for 8 s.
    assert ioopt.solve(two_steps(), "fifo").metrics[
        "makespan_seconds"
    ] == pytest.approx(50.0)


def test_what_is_wrong_is_named():
    batch = two_steps()
    with pytest.raises(UsageError, match="is in bits"):
        batch.add_file("5Mb")
    assert list(ioopt.compare(two_steps(), "fifo").index) == [
        "fifo"
    ]  # one name is no list


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda b: b.add_task(1, inputs="raw"),
            r"tasks[5] (t5).inputs: must be a list, not 'raw'",
        ),
        (
            lambda b: b.add_task(1, inputs=["x"]),
            "tasks[5] (t5).inputs: there is no file 'x'",
        ),
        (
            lambda b: b.add_task(1, outputs=["x"]),
            "tasks[5] (t5).outputs: there is no file 'x'",
        ),
        (
            lambda b: b.add_task(-1, "t"),
            "tasks[5] (t).compute_seconds: must be 0 or more, not -1",
        ),
        (
            lambda b: b.add_file(-5, "neg"),
            "files[2] (neg).bytes: must be 0 or more, not -5",
        ),
        (lambda b: b.add_file(5, "raw"), "files[2] (raw).id: 'raw' exists already"),
        (
            lambda b: b.add_node(cores=0),
            "nodes[1] (n1).cores: must be 1 or more, not 0",
        ),
        (lambda b: b.add_nodes(0), "add_nodes: count must be 1 or more, not 0"),
        (
            lambda b: ioopt.Batch(remote="10MB", replica="1MB/s"),
            "remote: rate '10MB' is a size, not a rate; write 10MB/s",
        ),
        (
            lambda b: ioopt.Batch(remote="1MB/s", replica="10"),
            "replica: '10' has no unit; write '10MB/s', or another unit",
        ),
        (
            lambda b: ioopt.Batch(remote=True, replica=1),
            "remote: wanted text such as '8MB/s', not True",
        ),
        (
            lambda b: b.add_node(disk="500"),
            "disk: '500' has no unit; write '500MB', or another unit",
        ),
        (
            lambda b: b.add_node(disk_rate="5GB"),
            "disk_rate: rate '5GB' is a size, not a rate; write 5GB/s",
        ),
        (
            lambda b: b.add_file("10MB/s"),
            "size: size '10MB/s' is not a number with a unit",
        ),
        (
            lambda b: b.add_task("90"),
            "compute: '90' has no unit; write '90s', or another unit",
        ),
        (
            lambda b: b.add_task(1, release=None, overhead=[1]),
            "overhead: wanted text such as '8s', not [1]",
        ),
        (
            lambda b: ioopt.Batch(remote=0, replica=1),
            "network.remote_bytes_per_second: must be 1e-12 or more, not 0",
        ),
    ],
)
def test_a_builder_refuses_at_the_call(call, said):
    batch = two_steps()
    before = batch.build()
    with pytest.raises(IooptError, match=re.escape(said)):
        call(batch)
    assert batch.build() == before  # what was refused is not in it


def test_a_batch_without_tasks_is_no_instance():
    batch = ioopt.Batch(remote="10MB/s", replica="100MB/s", name="mine")
    batch.add_nodes(2)
    with pytest.raises(IooptError, match="mine: has no task; add_task adds one"):
        ioopt.solve(batch)


def test_whole_numbers_may_have_an_exponent(tmp_path):
    instance = ioopt.load("cycle3").model_dump(mode="json")
    instance["files"][0]["bytes"] = 8e9
    assert type(ioopt.load(instance).files[0].bytes) is int
    (tmp_path / "x.json").write_text(
        json.dumps(instance).replace("8000000000.0", "8e9")
    )
    assert ioopt.load(tmp_path / "x.json").files[0].bytes == 8_000_000_000
    instance["files"][0]["bytes"] = 8.5
    with pytest.raises(
        InstanceError, match=r"\(f0\)\.bytes: must be a whole number, not 8\.5"
    ):
        ioopt.load(instance)
    batch = two_steps()
    batch.add_file(8e9, "large")
    assert batch.build().files[-1].bytes == 8_000_000_000
    with pytest.raises(UsageError, match=r"size 8\.5 is not a whole number of bytes"):
        batch.add_file(8.5)
    command = [
        "instances",
        "generate",
        "batch-io",
        "-o",
        str(tmp_path / "g.json"),
        "--set",
    ]
    assert main([*command, "jobs=1e1"]) == 0
    assert len(ioopt.load(tmp_path / "g.json").jobs) == 10
    with pytest.raises(UsageError, match=r"setting jobs='8.5': must be a whole number"):
        registry.generate(registry.KINDS["batch-io"], None, {"jobs": "8.5"}, 0)


def test_a_time_limit_has_a_unit_or_counts_seconds(capsys):
    assert (
        ioopt.solve("cycle3", "minmin", time_limit="2min").options["time_limit_seconds"]
        == 120.0
    )
    with pytest.raises(UsageError, match="time '1x' is not a number with a unit"):
        ioopt.solve("cycle3", "minmin", time_limit="1x")
    assert main(["solve", "cycle3", "--solver", "minmin", "--time-limit", "2min"]) == 0
    assert main(["solve", "cycle3", "--time-limit", "1x"]) == 2
    assert (
        "'--time-limit': time '1x' is not a number with a unit"
        in capsys.readouterr().err
    )


def test_a_result_draws_writes_and_shows_itself(tmp_path):
    result = ioopt.solve(two_steps(), "locality")
    axes = result.gantt()
    assert axes.figure is result.plot(ax=axes).figure
    result.save(str(tmp_path / "r.json.gz"))
    written = json.loads(gzip.decompress((tmp_path / "r.json.gz").read_bytes()))
    assert ioopt.check(two_steps(), written) == []
    result.save(str(tmp_path / "r.svg"))
    assert "<svg" in (tmp_path / "r.svg").read_text()
    page = result._repr_html_()
    assert "<th>makespan</th><td>50.00 s; 95 % of noisy runs" in page
    assert "<svg" in page
    assert "makespan" in str(result) and result.__rich__() == str(result)
    assert repr(result).startswith("<Result of locality on ") and "\n" not in repr(
        result
    )
    with pytest.raises(UsageError, match="a picture's name ends in"):
        result.save(str(tmp_path / "r.txt"))
    assert (
        ioopt.solve("cycle3", "minmin")
        .model_copy(update={"schedule": None})
        .to_frame()
        .empty
    )
    slots = ioopt.solve("quantum-plain", "quantum-greedy").to_frame()
    assert list(slots["job"]) == ["io0", "io1", "c0", "c1"]


@pytest.mark.slow
def test_charts_under_one_another_share_scale_and_legend(tmp_path):
    """Two writers: fair shares end at 4 s, one at a time at 2 s and 4 s;
    alone on the machine 2 s.
    """
    writers = ioopt.load("two-writers")
    short = ioopt.solve(ioopt.load("two-writers"), "no-congestion")
    long = ioopt.solve(writers, "cons-fcfs")
    assert [
        max(row["end_seconds"] for row in r.schedule["jobs"]) for r in (short, long)
    ] == [2, 4]
    lasts = {None: "at the limit", "gantt": "waiting"}
    for pair, picture in product(([short, long], [long, short]), lasts):
        first, second = draw_beside(pair, picture).figure.axes
        assert first.get_xlim() == second.get_xlim() == (0, 4 * 1.01)
        assert [first.get_xlabel(), second.get_xlabel()] == ["", "time (s)"]
        (legend,) = first.figure.legends
        assert [text.get_text() for text in legend.get_texts()][-1] == lasts[picture]
        assert first.get_legend() is None is second.get_legend()
    for name, result in (("a.json", short), ("b.json", long)):
        result.save(str(tmp_path / name))
    names = [str(tmp_path / name) for name in ("a.json", "b.json")]
    assert main(["plot", *names, "-o", str(tmp_path / "beside.png")]) == 0
    for picture, code in (("gantt", 0), ("matrix", 2)):
        words = ["plot", *names, "--picture", picture, "-o", str(tmp_path / "x.png")]
        assert main(words) == code
    with pytest.raises(UsageError, match="no picture on a time scale"):
        draw_beside([long, ioopt.solve("flexgang-tiny", "greedy")])
