"""Tests of the benchmark that holds replays against recorded runs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from bench import records

HEAD = "hostname,name,status,cpus,submit,start,complete,realtime,%cpu,rchar,wchar"
MB = 10**6


def write_run(folder: Path, mode: str, reading: int, ends: int) -> None:
    """Write a run of two samples on two nodes, each made and read in *ends* ms."""
    lines = [HEAD]
    pairs = ["task,reads_output_of"]
    for number in range(2):
        host = f"h{number}"
        lines.append(
            f"{host},make ({number}),COMPLETED,1,0,0,{ends},2000,100,0,{900 * MB}"
        )
        lines.append(
            f"{host},use ({number}),COMPLETED,1,{ends},{ends},{2 * ends},{reading},"
            f"50,{900 * MB},{5 * MB}"
        )
        pairs.append(f"use ({number}),make ({number})")
    folder.mkdir(parents=True, exist_ok=True)
    table = "\n".join([*lines, ""]).encode()
    (folder / f"{mode}.csv.gz").write_bytes(gzip.compress(table))
    (folder / f"{mode}.edges.csv").write_text("\n".join([*pairs, ""]))


def test_without_records_one_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records.main(quick=True, folders=[str(tmp_path / "none")])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("records: skipped, no recorded runs in")


def test_the_tables_of_a_folder(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Through NFS the nodes write and read again 900 MB each; on node disks they keep
    them.
    """
    monkeypatch.setattr(records, "REPLAYS", 40)
    write_run(tmp_path / "pair" / "2-nodes", "orig-nfs", 20_000, 24_000)
    write_run(tmp_path / "pair" / "2-nodes", "la-nfs", 10_000, 14_000)
    records.main(quick=True, folders=[str(tmp_path)])
    told = capsys.readouterr().out
    assert "pair/2-nodes orig-nfs" in told
    assert "pair/2-nodes la-nfs" in told
    (order,) = [line for line in told.splitlines() if line.split()[:1] == ["1"]]
    assert order.split() == ["1", "1", "0", "0"]  # one pair, told right
    assert "of 1" in told


def test_a_faster_network_scales_rates_only(tmp_path: Path) -> None:
    folder = tmp_path / "2gbit" / "pair" / "2-nodes"
    write_run(folder, "orig-nfs", 20_000, 24_000)
    (run,) = records.found_runs(tmp_path)
    assert run.gigabits == 2
    known = records.known_constants()["nfs"]
    fast = run.constants()
    assert fast.remote_bytes_per_second == 2 * known.remote_bytes_per_second
    assert fast.overhead_seconds == known.overhead_seconds
    assert run.group == "2gbit/pair/2-nodes"
