"""Darshan logs: totals against darshan-parser's own, phases, and everything
a damaged log may be.
"""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import shared_files, shared_path

from ioopt.errors import BackendMissingError, InstanceError
from ioopt.formats.darshan import raw as raws
from ioopt.formats.darshan.io import (
    batch_io_from_darshan,
    join_logs,
    phases_of,
    read_darshan_logs,
)
from ioopt.formats.darshan.log import (
    DarshanLog,
    DarshanPhase,
    find_phases,
    read_darshan,
    summarise,
)
from ioopt.formats.darshan.raw import Access, RawLog, parse_text
from ioopt.formats.io_rule import MachineRule
from ioopt.solving import solve

HEADER = """# darshan log version: 3.41
# jobid: 77
# start_time: 1000
# end_time: 1099
# nprocs: 4
# run time: 100.0
# POSIX module: 10 bytes (compressed), ver=4
"""
needs_darshan = pytest.mark.skipif(
    importlib.util.find_spec("darshan") is None,
    reason="the optional package darshan is missing",
)


def posix(rank: int, record: int, **counters: float | str) -> str:
    return "".join(
        f"POSIX\t{rank}\t{record}\tPOSIX_{name}\t{value}\tfile\t/scratch\tlustre\n"
        for name, value in counters.items()
    )


def log(text: str, name: str = "job.txt") -> DarshanLog:
    return summarise(parse_text(text, name))


def write_record(rank: int, record: int, start: float, end: float, count: int) -> str:
    return posix(
        rank,
        record,
        BYTES_READ=0,
        BYTES_WRITTEN=count,
        F_READ_START_TIMESTAMP=0,
        F_WRITE_START_TIMESTAMP=start,
        F_READ_END_TIMESTAMP=0,
        F_WRITE_END_TIMESTAMP=end,
        F_READ_TIME=0,
        F_WRITE_TIME=end - start,
        F_META_TIME=0.5,
        F_SLOWEST_RANK_TIME=2.0,
    )


def totals_of(path: Path) -> tuple[dict[str, float], list[float]]:
    """Sums and agg_time_by_slowest of each module in the output of
    darshan-parser --total --perf.
    """
    text = path.read_text("utf-8")
    totals = {
        key: float(value)
        for key, value in re.findall(r"^total_(\w+): (\S+)$", text, re.M)
    }
    unique = re.findall(r"unique files: slowest_rank_io_time: (\S+)", text)
    shared = re.findall(r"shared files: time_by_slowest: (\S+)", text)
    return totals, [float(a) + float(b) for a, b in zip(unique, shared)]


TEXTS = [
    path
    for path in shared_files("data/darshan", "*.v3.parser.txt")
    if "imbal" not in path.name
]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name[:24])
def test_text_agrees_with_darshans_own_totals(path: Path) -> None:
    found = read_darshan(path)
    stem = path.name.split(".parser.txt")[0]
    totals, seconds = totals_of(path.parent / f"{stem}.total-perf-file.txt")
    for what, ours in (("READ", found.bytes_read), ("WRITTEN", found.bytes_written)):
        assert ours == sum(
            totals.get(f"{p}_BYTES_{what}", 0) for p in ("POSIX", "STDIO")
        )
    # Printed to 1e-6 s; darshan-parser 3.5 leaves the time of <STDERR>
    # (68 us) out of STDIO.
    assert list(found.layer_seconds.values()) == pytest.approx(seconds, abs=1e-4)
    assert sum(p.bytes_read for p in found.phases) == found.bytes_read
    assert sum(p.bytes_written for p in found.phases) == found.bytes_written
    assert found.io_seconds <= found.run_seconds


@needs_darshan
@pytest.mark.parametrize(
    "stem", ["edison-vpicio-2048procs", "mpi-io-test-dxt-32procs", "empty"]
)
def test_binary_and_text_agree(stem: str) -> None:
    binary = read_darshan(shared_path("data", "darshan", f"{stem}.v3.darshan"))
    text = read_darshan(shared_path("data", "darshan", f"{stem}.v3.parser.txt"))
    assert (binary.job_id, binary.processes) == (text.job_id, text.processes)
    assert (binary.bytes_read, binary.bytes_written) == (
        text.bytes_read,
        text.bytes_written,
    )
    assert list(binary.layer_seconds.values()) == pytest.approx(
        list(text.layer_seconds.values()), abs=1e-5
    )
    assert len(binary.phases) == len(text.phases)


@needs_darshan
def test_partial_binary_log_is_imported_with_a_warning() -> None:
    found = read_darshan(shared_path("data", "darshan", "imbalanced-io.v3.darshan"))
    assert any("incomplete data" in text for text in found.warnings)
    assert len(found.phases) == 6 and found.processes == 496
    assert found.read_seconds + found.write_seconds == pytest.approx(found.io_seconds)
    assert found.bytes_read + found.bytes_written == 106_731_244_174


def test_text_of_a_parser_that_stopped_early_is_refused() -> None:
    with pytest.raises(InstanceError, match="lists POSIX, MPI-IO, STDIO data"):
        read_darshan(shared_path("data", "darshan", "imbalanced-io.v3.parser.txt"))


def test_old_binary_logs_are_refused_with_the_reason() -> None:
    name = "intrepid-bgp-partshared-2048procs.v2.darshan.gz"
    with pytest.raises(InstanceError, match=r"format 2\.00; ioopt reads 3\.x"):
        read_darshan(shared_path("data", "darshan", name))


def test_binary_logs_need_the_package(tmp_path, monkeypatch) -> None:
    path = tmp_path / "job.darshan"
    path.write_bytes(b"3.41\x00" + bytes(100))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BackendMissingError, match=r"ioopt\[darshan\]"):
        read_darshan(path)


@needs_darshan
def test_damaged_binary_log(tmp_path) -> None:
    path = tmp_path / "job.darshan"
    path.write_bytes(b"3.41\x00" + bytes(100))
    with pytest.raises(InstanceError, match="damaged or unreadable"):
        read_darshan(path)


def test_two_phases_and_their_times_by_hand() -> None:
    # Ranks 0 and 1 write 100 bytes at 10-14 and 11-15, rank 0 another 200 at
    # 60-62. I/O time: rank 0 has (4 + 0.5) + (2 + 0.5) = 7 s, rank 1 4.5 s; the
    # slowest rank has 7 s.
    found = log(
        HEADER
        + write_record(0, 1, 10, 14, 100)
        + write_record(1, 2, 11, 15, 100)
        + write_record(0, 3, 60, 62, 200)
    )
    assert found.phases == (DarshanPhase(10, 15, 0, 200), DarshanPhase(60, 62, 0, 200))
    assert (found.bytes_written, found.io_seconds, found.warnings) == (400, 7.0, ())
    # 3.5 s of I/O each; compute 15 - 3.5 = 11.5, 47 - 3.5 = 43.5 and 38
    # after: 93 s in all.
    rows = phases_of(found)
    assert [row["compute_seconds"] for row in rows] == pytest.approx([11.5, 43.5, 38.0])
    assert [row["io_bytes"] for row in rows] == [200, 200, 0]


def test_a_shared_file_counts_its_slowest_rank() -> None:
    found = log(
        HEADER + write_record(-1, 1, 10, 14, 100) + write_record(-1, 2, 20, 21, 100)
    )
    assert found.io_seconds == 4.0


def test_io_longer_than_the_run_is_cut_with_a_warning() -> None:
    shared = write_record(-1, 1, 1, 2, 9).replace("TIME\t2.0", "TIME\t250.0")
    found = log(HEADER + shared)
    assert found.io_seconds == 100.0 and "longer than the run" in found.warnings[0]


def test_counters_of_minus_one_are_unknown() -> None:
    text = posix(
        0, 1, BYTES_READ=-1, BYTES_WRITTEN=50, F_READ_TIME=-1.0, F_WRITE_TIME=3
    )
    found = log(HEADER + text)
    assert (found.bytes_read, found.bytes_written, found.io_seconds) == (0, 50, 3.0)
    assert "without usable times" in found.warnings[0]
    assert found.phases == (DarshanPhase(100, 100, 0, 50),)


def test_what_is_written_late_is_cut_to_the_run() -> None:
    """Clocks differ: a run of 100 s, writes from 95 to 108.3 s
    and from 103 to 104 s.
    """
    text = write_record(0, 1, 10, 20, 100) + write_record(1, 2, 95, 108.3, 300)
    found = log(HEADER + text)
    assert found.phases == (DarshanPhase(10, 20, 0, 100), DarshanPhase(95, 100, 0, 300))
    assert found.warnings == (
        "job.txt: 1 files are read or written after the run of 100 s, the last until "
        "108.3 s: cut to the run",
    )
    after = log(HEADER + write_record(0, 1, 103, 104, 100))
    assert after.phases == (DarshanPhase(100, 100, 0, 100),)
    # Texts tell the start in whole seconds: up to a second is cut without a word.
    assert log(HEADER + write_record(0, 1, 95, 100.9, 100)).warnings == ()


@pytest.mark.parametrize(
    ("changed", "said", "phase"),
    [
        ({"BYTES_WRITTEN": -5}, "1 counters that overflowed", None),
        ({"BYTES_WRITTEN": -(2**63)}, "1 counters that overflowed", None),
        ({"BYTES_WRITTEN": 2**63}, "1 counters that overflowed", None),
        (
            {"BYTES_WRITTEN": 2**64 - 1},
            "POSIX BYTES_WRITTEN 1.84467440737096e+19",
            None,
        ),
        ({"F_WRITE_START_TIMESTAMP": -3}, "1 negative times, counted as 0", (100, 100)),
        ({"F_WRITE_TIME": -3}, "POSIX F_WRITE_TIME -3 of rank 0", (10, 14)),
        ({"F_META_TIME": -1}, None, (10, 14)),  # not monitored
    ],
)
def test_counters_that_cannot_be_are_reported(
    changed: dict[str, float], said: str | None, phase: tuple[float, float] | None
) -> None:
    counters: dict[str, float] = {
        "BYTES_READ": 0,
        "BYTES_WRITTEN": 50,
        "F_WRITE_START_TIMESTAMP": 10,
        "F_WRITE_END_TIMESTAMP": 14,
        "F_WRITE_TIME": 4,
        "F_META_TIME": 0,
    }
    found = log(HEADER + posix(0, 1, **counters | changed))
    assert [(each.start_seconds, each.end_seconds) for each in found.phases] == (
        [] if phase is None else [phase]
    )
    assert (found.warnings == ()) if said is None else (said in found.warnings[0])


def test_minor_files_make_no_phase() -> None:
    big, small = Access("read", 10_000, (10.0, 11.0)), Access("write", 9, (0.0, 99.0))
    assert find_phases([big, small], 100, 1.0)[0] == (DarshanPhase(10, 11, 10_000, 9),)


@pytest.mark.parametrize(("gap", "phases"), [(1.0, 2), (2.5, 1)])
def test_the_gap_decides(gap: float, phases: int) -> None:
    found = find_phases([Access("read", 5, (0, 1)), Access("read", 5, (3, 4))], 9, gap)[
        0
    ]
    assert len(found) == phases and sum(p.total_bytes for p in found) == 10


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("# *ERROR*: The POSIX module contains incomplete data!\n", "Darshan says"),
        (
            "# MPI-IO module: 9 bytes (compressed), ver=3\n",
            "lists MPI-IO data and none follows",
        ),
        ("# DFS module: 9 bytes (compressed), ver=1\n", "DFS data are not counted"),
        (posix(0, 9, BYTES_READ=5), "1 POSIX records have less than 10 counters"),
    ],
)
def test_imported_with_a_warning(text: str, what: str) -> None:
    found = log(HEADER + write_record(0, 1, 10, 14, 100) + text)
    assert found.bytes_written == 100
    assert any(what in warning for warning in found.warnings), found.warnings


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no '# darshan log version' line"),
        ("hello\n", "no '# darshan log version' line"),
        (HEADER.replace("# nprocs: 4", ""), "nprocs: missing"),
        (
            HEADER.replace("nprocs: 4", "nprocs: four"),
            "nprocs: must be a whole number, not 'four'",
        ),
        (HEADER.replace("nprocs: 4", "nprocs: 0"), "nprocs: must be 1 or more"),
        (
            HEADER.replace("run time: 100.0", "run time: -5"),
            "run time: must be 0 or more",
        ),
        (
            HEADER.replace("run time: 100.0", "run time: nan"),
            "run time: must be a finite number",
        ),
        (HEADER.replace("3.41", "4.00"), "'4.00'; ioopt reads logs of format 3.x"),
        (HEADER, "incomplete: the header lists POSIX data"),
        (HEADER + "POSIX\t0\t1\tPOSIX_BYTES_READ\n", "line 8: fewer columns"),
        (HEADER + "total_POSIX_OPENS: 3\n", "this is a summary"),
        (
            HEADER + posix(0, 1, OPENS=float("nan")),
            "line 8: POSIX_OPENS 'nan' is not a finite",
        ),
        (
            HEADER + posix(0, 1, OPENS="many"),
            "line 8: POSIX_OPENS 'many' is not a number",
        ),
        (
            HEADER + posix(0, 1, OPENS=1).replace("X_OPENS", "Y_OPENS"),
            "does not belong",
        ),
    ],
)
def test_refused(text: str, what: str) -> None:
    with pytest.raises(InstanceError, match=re.escape(what)):
        log(text)


def test_a_second_log_in_one_text_is_refused() -> None:
    """Joined texts: the second log's counters are not the first one's."""
    one = HEADER + write_record(0, 1, 10, 14, 100)
    for second in (one, HEADER + write_record(0, 2, 10, 14, 100)):
        with pytest.raises(InstanceError, match="line 18: a second log begins"):
            log(one + second)
    with pytest.raises(
        InstanceError, match="POSIX_OPENS of record 1, rank 0, a second time"
    ):
        log(HEADER + posix(0, 1, OPENS=1) + posix(0, 1, OPENS=2))


def test_the_output_of_the_parser_of_traces_is_named() -> None:
    line = (
        " X_POSIX       0  write        0               0              40      "
        "0.06      0.07\n"
    )
    with pytest.raises(InstanceError, match="line 8: a trace of darshan-dxt-parser"):
        log(HEADER + line)


FAKE_DARSHAN = """
class DarshanReport:
    def __init__(self, path, read_all):
        self.modules = {}
        job = {"log_ver": "3.41", "jobid": 7, "nprocs": 2, "start_time_sec": 5}
        self.metadata = {"job": job | {"start_time_nsec": 0, "run_time": 9.0}}
"""


def test_a_binary_log_is_read_in_a_process_of_its_own(tmp_path, monkeypatch) -> None:
    """The answer of the process can be read here (it could not when its classes
    were those of __main__).
    """
    (tmp_path / "darshan.py").write_text(FAKE_DARSHAN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    path = tmp_path / "job.darshan"
    path.write_bytes(b"3.41\x00" + bytes(100))
    found = read_darshan(path)
    assert (found.job_id, found.processes, found.run_seconds) == (7, 2, 9)


def traced(text: str, *rows: tuple[str, int, float, float]) -> RawLog:
    """A log with the segments of a DXT trace, as only a binary one has them."""
    segments = [Access(kind, count, (start, end)) for kind, count, start, end in rows]
    return replace(parse_text(text, "job"), segments={"DXT_POSIX": segments})


TRACE = (
    ("read", 100, 10.0, 12.0),
    ("read", 100, 11.0, 14.0),
    ("write", 200, 50.0, 51.0),
    ("write", 200, 80.0, 83.0),
)


def test_phases_and_times_of_a_dxt_trace() -> None:
    # Reads 10-12 and 11-14 are one phase of 4 s, writes take 1 and 3
    # s: 600 bytes in 8 s.
    found = summarise(traced(HEADER, *TRACE))
    assert found.phases == (
        DarshanPhase(10, 14, 200, 0),
        DarshanPhase(50, 51, 0, 200),
        DarshanPhase(80, 83, 0, 200),
    )
    assert (found.read_seconds, found.write_seconds, found.io_seconds) == (
        4.0,
        4.0,
        8.0,
    )
    assert (found.rate, found.times_from) == (75.0, "DXT")
    assert "only DXT segments" in found.warnings[0]
    # Each phase takes its bytes at 75 B/s, 8/3 s; compute lasts 92 s in all.
    rows = phases_of(found)
    assert sum(row["compute_seconds"] for row in rows) == pytest.approx(92)
    assert [row["io_bytes"] for row in rows] == [200, 200, 200, 0]


def test_counters_say_how_much_and_a_trace_when() -> None:
    # The 610 bytes written are the counters'; reads are the trace's alone,
    # so they have none.
    found = summarise(traced(HEADER + write_record(0, 1, 10, 83, 610), *TRACE))
    assert (found.bytes_written, found.times_from) == (610, "DXT")
    assert [phase.total_bytes for phase in found.phases] == [305, 305]
    assert found.warnings == ()


def test_segments_that_are_late_or_cannot_be() -> None:
    """A run of 100 s: 98 to 105 s becomes 98 to 100; three segments lose
    their times or bytes.
    """
    rows = (
        ("write", 100, 98.0, 105.0),
        ("write", 1, -2.0, 3.0),
        ("write", 1, 9.0, 8.0),
        ("write", -4, 1.0, 2.0),
    )
    found = summarise(traced(HEADER, *rows))
    assert found.bytes_written == 102
    assert found.phases == (DarshanPhase(98, 100, 0, 102),) and found.write_seconds == 2
    said = "\n".join(found.warnings)
    assert "1 segments of the trace are read or written after the run of 100 s" in said
    assert "3 segments of the trace have impossible times or bytes" in said


def test_a_trace_that_lost_segments_is_not_used() -> None:
    found = summarise(traced(HEADER + write_record(0, 1, 10, 83, 10_000), *TRACE))
    assert found.times_from == "files" and len(found.phases) == 1
    assert "DXT holds 600 of 10000 bytes" in found.warnings[0]


@needs_darshan
def test_a_real_dxt_log() -> None:
    found = read_darshan(
        shared_path("data", "darshan", "mpi-io-test-dxt-32procs.v3.darshan")
    )
    assert [bool(phase.bytes_read) for phase in found.phases] == [False, True]
    assert found.read_seconds == pytest.approx(3.01, abs=0.01)
    assert found.write_seconds == pytest.approx(1.04, abs=0.01)


def test_phases_of_a_heatmap() -> None:
    # One file open from 5 to 95 s; its 100 bytes are in bins 2, 3 and 36 of 2.5 s.
    raw = parse_text(HEADER + write_record(0, 1, 5, 95, 100), "job")
    bins = {("write", 2): 30, ("write", 3): 20, ("write", 36): 50}
    found = summarise(replace(raw, bins=bins, bin_seconds=2.5))
    assert found.phases == (DarshanPhase(5, 10, 0, 50), DarshanPhase(90, 92.5, 0, 50))
    assert (found.times_from, found.io_seconds, found.warnings) == ("heatmap", 90.5, ())


def test_bins_of_a_binary_heatmap() -> None:
    import pandas as pd

    class Map:
        def to_df(self, ops):
            columns = pd.IntervalIndex.from_breaks([0.0, 0.5, 1.0])
            return pd.DataFrame(
                [[0, 7], [2, 1]] if ops == ["write"] else [[0, 0]], columns=columns
            )

    maps = {"heatmap:POSIX": Map(), "heatmap:MPIIO": None}
    report = SimpleNamespace(heatmaps=maps, read_all_heatmap_records=lambda: None)
    assert raws._bins(report) == ({("write", 0): 2, ("write", 1): 8}, 0.5)


def test_runs_of_one_job_are_joined() -> None:
    text = HEADER + write_record(0, 1, 10, 14, 100)
    second = log(text.replace("start_time: 1000", "start_time: 1300"), "second.txt")
    joined = join_logs([log(text), second])
    # From 1000 to 1400: two runs of 100 s with 4.5 s of I/O each, 200 s apart.
    assert (joined.start_seconds, joined.run_seconds, joined.processes) == (
        1000,
        400,
        4,
    )
    assert (joined.bytes_written, joined.io_seconds) == (200, 9.0)
    assert [(p.start_seconds, p.end_seconds) for p in joined.phases] == [
        (10, 14),
        (310, 314),
    ]
    assert (
        "2 logs of job 77 are one job of 400 s, 200 s of them in its runs"
        in joined.warnings[-1]
    )
    # 14 - 4.5 s of compute before the first write, 300 - 4.5 s before the
    # second, 86 s after it.
    assert [row["compute_seconds"] for row in phases_of(joined)] == pytest.approx(
        [9.5, 295.5, 86]
    )


def test_runs_at_once_share_their_time() -> None:
    text = HEADER + write_record(0, 1, 10, 14, 100)
    joined = join_logs([log(text), log(text, "other.txt")])
    # Both run from 1000 to 1100: 8 processes, 200 s of runs in 100 s, so 9
    # s of I/O in 4.5 s.
    assert (joined.processes, joined.run_seconds, joined.io_seconds) == (8, 100, 4.5)


def test_a_log_that_stands_twice_counts_once(tmp_path) -> None:
    text = HEADER + write_record(0, 1, 10, 14, 100)
    other = HEADER + write_record(
        0, 2, 20, 24, 100
    )  # begins with it, and is another run
    for name, content in (
        ("a.txt", text),
        ("b.txt", text),
        ("c.txt", other),
        ("d.txt", "hello"),
    ):
        (tmp_path / name).write_text(content)
    (found,), reasons = read_darshan_logs([str(tmp_path)])
    assert found.bytes_written == 200 and "2 logs of job 77" in found.warnings[-1]
    assert any(
        "b.txt is of the same run and is not used" in text for text in found.warnings
    )
    assert len(reasons) == 1 and "d.txt" in reasons[0]


def test_logs_become_one_instance() -> None:
    text = HEADER + write_record(0, 1, 10, 14, 10**10)
    later = text.replace("start_time: 1000", "start_time: 1300").replace(
        "jobid: 77", "jobid: 78"
    )
    made = batch_io_from_darshan(
        [log(later), log(text)], machine=MachineRule(nodes=8, processors_per_node=2)
    )
    assert [job.id for job in made.jobs] == [77, 78]
    assert [job.submit_seconds for job in made.jobs] == [0, 300]
    assert [job.nodes for job in made.jobs] == [2, 2]
    # 10 GB in 4.5 s: 2.22 GB/s on 2 nodes, more than the default rates of 8 nodes.
    assert made.jobs[0].io_bytes_per_second == pytest.approx(1e10 / 4.5)
    assert made.machine.node_bytes_per_second == pytest.approx(1e10 / 9)
    assert made.machine.storage_bytes_per_second == pytest.approx(1e10 / 4.5)
    assert "raised to what the logs achieved" in made.meta["synthetic"]["rates"]
    assert made.meta["warnings"] == list(made.warnings)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name[:24])
def test_alone_on_its_machine_a_job_runs_as_long_as_it_was_measured(path: Path) -> None:
    found = read_darshan(path)
    (job,) = solve(batch_io_from_darshan([found]), "base-line").schedule["jobs"]
    assert job["end_seconds"] - job["start_seconds"] == pytest.approx(
        found.run_seconds, rel=1e-9
    )


def test_stated_rates_stay_and_what_is_slower_is_said() -> None:
    rates = MachineRule(node_bytes_per_second=1e9, storage_bytes_per_second=1e9)
    made = batch_io_from_darshan(
        [log(HEADER + write_record(0, 1, 10, 14, 10**10))], machine=rates
    )
    assert made.machine.storage_bytes_per_second == 1e9
    assert any(
        "achieved more than the rates of the machine" in text for text in made.warnings
    )


def test_unlike_rates_of_reading_and_writing_are_said() -> None:
    both = posix(
        0,
        1,
        BYTES_READ=10**9,
        BYTES_WRITTEN=10**9,
        F_READ_START_TIMESTAMP=1,
        F_READ_END_TIMESTAMP=2,
        F_WRITE_START_TIMESTAMP=10,
        F_WRITE_END_TIMESTAMP=14,
        F_READ_TIME=1,
        F_WRITE_TIME=4,
        F_META_TIME=0,
    )
    found = log(HEADER + both)
    assert (found.read_seconds, found.write_seconds, found.rate) == (1.0, 4.0, 4e8)
    said = batch_io_from_darshan([found]).warnings
    assert any(
        "reads came at 1000 MB/s, writes at 250; the job has one rate, 400" in t
        for t in said
    )


def test_a_log_too_large_for_the_stated_machine() -> None:
    with pytest.raises(
        InstanceError, match="4 processes need 4 nodes, the machine has 2"
    ):
        batch_io_from_darshan(
            [log(HEADER + write_record(0, 1, 1, 2, 3))], machine=MachineRule(nodes=2)
        )
