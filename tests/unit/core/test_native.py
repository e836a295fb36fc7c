"""Reading and writing native files: every refusal names the place;
writing destroys nothing.
"""

import contextlib
import errno
import gzip
import os
import stat
import subprocess
import sys
import threading
import tracemalloc

import pytest
from replication_samples import document

import ioopt
from ioopt.campaign.grid import read_config
from ioopt.errors import InstanceError, UsageError
from ioopt.formats import native
from ioopt.formats.batsim.workload import read_batsim
from ioopt.formats.darshan.log import read_darshan
from ioopt.formats.native import dump_json, read_json, write_text
from ioopt.formats.swf.log import read_swf
from ioopt.formats.wfformat.instance import read_wfformat


def instance(**changes):
    nodes, files = [{}, {"disk_bytes": 100}], {"f0": 30, "f1": 80}
    return document(nodes, files, {"t0": (1, ["f0"])}) | changes


BAD_INSTANCES = [
    ({"format": None}, "format"),
    ({"format": "ioopt/replicaton"}, "did you mean 'ioopt/replication'"),
    ({"version": 2}, "version"),
    ({"extra": 1}, "extra: unknown key"),
    ({"nodes": []}, "nodes"),
    (
        {"nodes": [{"id": "n"}, {"id": "n"}]},
        r"nodes\[1\].id 'n' is already the id of nodes\[0\]",
    ),
    ({"nodes": [{"id": "n", "disk": 3}]}, r"nodes\[0\] \(n\)\.disk: unknown key"),
    (
        {"nodes": [{"id": "n", "speed": 0}]},
        r"nodes\[0\] \(n\)\.speed: .*must be 1e-12 or more, not 0",
    ),
    (
        {"nodes": [{"id": "n", "holds": ["zz"]}]},
        r"nodes\[0\] \(n\)\.holds: there is no file 'zz'",
    ),
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
    (
        {"tasks": [{"id": "t", "compute_seconds": "1"}]},
        r"tasks\[0\] \(t\)\.compute_seconds",
    ),
    (
        {"tasks": [{"id": "t", "compute_seconds": 1, "inputs": ["f0", "f0"]}]},
        r"tasks\[0\] \(t\)\.inputs: file 'f0' is listed twice",
    ),
    ({"tasks": [{"compute_seconds": 1}]}, r"tasks\[0\]\.id: missing"),
    (
        {"files": [{"id": "f", "bytes": 10**400}]},
        r"files\[0\] \(f\)\.bytes: must be 1e\+18 or less",
    ),
    (
        {"files": [{"id": "x" * 5000, "bytes": 1}]},
        "id: must have 4096 characters or less",
    ),
    (
        {"tasks": [{"id": "t", "compute_seconds": 1e300}]},
        r"must be 1e\+10 or less, not 1e\+300",
    ),
    (
        {"network": {"remote_bytes_per_second": 1e-300, "replica_bytes_per_second": 1}},
        "must be 1e-12 or more",
    ),
    # The misspelt key, not the key that is missing because of it.
    (
        {"tasks": [{"id": "t", "compute_second": 1.0}]},
        r"\(t\)\.compute_second: unknown key; did you mean 'compute_seconds'\? "
        r"\(and 1 more\)",
    ),
    ({"nods": []}, r"nods: unknown key; did you mean 'nodes'\?"),
    # Not only required keys are near, and the nearest unknown one comes first.
    (
        {"zzz": 1, "nodes": [{"id": "n0", "hold": ["f"]}]},
        "hold: unknown key; did you mean 'holds'",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD_INSTANCES)
def test_bad_instances_name_the_place(changes, message):
    with pytest.raises(InstanceError, match=message) as caught:
        ioopt.load(instance(**changes))
    assert "\n" not in str(caught.value)


def test_broken_files_name_the_place(tmp_path):
    for name, content, message in [
        ("empty.json", b"", "line 1 column 1"),
        ("cut.json", b'{"a": 1', "line 1 column 8"),
        ("twice.json", b'{"a": 1, "a": 2}', "key 'a' is given twice"),
        ("nan.json", b'{"a": NaN}', "NaN is not a number"),
        ("deep.json", b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        ("latin.json", b'{"a": "\xe9"}', "not UTF-8"),
        ("cut.json.gz", gzip.compress(b"{}" * 1000)[:-9], "cannot be read"),
        ("list.json", b"[1]", "an instance is a JSON object, not list"),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InstanceError, match=f"{name}: .*{message}"):
            ioopt.load(path)
    with pytest.raises(InstanceError, match="no such file, and no bundled instance"):
        ioopt.load(tmp_path / "absent.json")
    with pytest.raises(InstanceError, match="is a directory"):
        ioopt.load(tmp_path)


def test_gzip_is_read_and_written_reproducibly(tmp_path):
    text = dump_json(instance())
    for name in ("a.json.gz", "b.json.gz"):
        write_text(tmp_path / name, text)
    assert (tmp_path / "a.json.gz").read_bytes() == (
        tmp_path / "b.json.gz"
    ).read_bytes()
    assert read_json(tmp_path / "a.json.gz") == instance()


def peak_bytes(call) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_reading_allocates_what_is_there(tmp_path):
    for name, content in [("a.json", b"{}"), ("a.json.gz", gzip.compress(b"{}"))]:
        (tmp_path / name).write_bytes(content)
        # one piece of 1 MiB and its buffer; it was 2 GiB
        assert peak_bytes(lambda path=tmp_path / name: read_json(path)) < 4e6


READERS = {
    "json": read_json,
    "swf": read_swf,
    "darshan": read_darshan,
    "wfformat": read_wfformat,
    "batsim": read_batsim,
    "sweep": read_config,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_small_file_that_unpacks_to_a_large_one_is_refused_by_every_reader(
    reader, tmp_path, monkeypatch
):
    monkeypatch.setattr(native, "FREE_UNPACKED_BYTES", 2**21)
    path = str(tmp_path / "bomb.gz")
    with gzip.open(path, "wb", compresslevel=1) as out:
        for _ in range(9):  # MiB in 41 kB: 64 times that are 2.6 MB
            out.write(b" " * 2**20)

    def refused() -> None:
        with pytest.raises(
            InstanceError, match=r"bomb.gz: larger than the limit of \d+ bytes unpacked"
        ):
            READERS[reader](path)

    assert peak_bytes(refused) < 8e6  # what was unpacked so far, and one piece


def test_a_large_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "sparse.json"
    with path.open("wb") as stream:
        stream.truncate(3 * 2**30)
    monkeypatch.setattr(native, "_bounded", lambda *_: pytest.fail("read"))
    with pytest.raises(InstanceError, match="3221225472 bytes; at most"):
        read_json(path)


def test_what_has_no_size_is_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "MAX_STREAM_BYTES", 2**20)
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError):
            fifo.write_bytes(b" " * 2**22)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(InstanceError, match="larger than the limit of 1048576 bytes"):
        read_json(fifo)
    writer.join()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "result.json"
    target.write_text("old")

    def full(handle):
        raise OSError(errno.ENOSPC, "half way")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="half way"):
        write_text(target, "new, but only ha")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_replaced_file_keeps_its_mode(tmp_path):
    target = tmp_path / "result.json"
    target.write_text("old")
    target.chmod(0o640)
    before = target.stat().st_ino
    write_text(target, "new")
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.stat().st_ino != before  # renamed over: no reader sees half a file


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    real, link, chain = (
        tmp_path / "real" / "r.json",
        tmp_path / "l.json",
        tmp_path / "c.json",
    )
    link.symlink_to("real/r.json")
    chain.symlink_to("l.json")
    write_text(chain, "first")  # the chain ends where nothing stands yet
    assert real.read_text() == "first"
    write_text(link, "second")
    assert real.read_text() == "second"
    assert os.readlink(link) == "real/r.json" and os.readlink(chain) == "l.json"
    assert sorted(p.name for p in tmp_path.rglob("*")) == [
        "c.json",
        "l.json",
        "r.json",
        "real",
    ]


def test_a_file_with_two_names_keeps_both(tmp_path):
    """Both names show the new content, which is shorter."""
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text("old and long")
    second.hardlink_to(first)
    write_text(second, "new")
    assert first.read_text() == second.read_text() == "new"
    assert first.stat().st_nlink == 2
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_a_folder_that_is_not_there_and_a_circle_of_links_are_errors(tmp_path):
    link = tmp_path / "l.json"
    link.symlink_to("l.json")
    for target in (tmp_path / "no" / "result.json", link):
        with pytest.raises(UsageError, match="cannot be written"):
            write_text(target, "x")
    assert os.readlink(link) == "l.json"


@pytest.mark.parametrize("linked", [False, True])
def test_a_fifo_is_written_through(tmp_path, linked):
    fifo, target = tmp_path / "pipe", tmp_path / "pipe"
    os.mkfifo(fifo)
    if linked:
        target = tmp_path / "link"
        target.symlink_to(fifo)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(fifo.read_text()))
    reader.start()
    write_text(target, "through")
    reader.join()
    assert received == ["through"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


@pytest.mark.parametrize("hops", [1, 2])
def test_standard_output_by_name_goes_on_where_it_stands(tmp_path, hops):
    """``ioopt ... -o /dev/stdout >> log`` appends to the log, which
    stays the same file.

    The name is a link made here, as /dev/stdout is one: no test may write into /dev.
    """
    log, name = tmp_path / "log", "/proc/self/fd/1"
    for hop in range(hops):
        (tmp_path / f"stdout{hop}").symlink_to(name)
        name = str(tmp_path / f"stdout{hop}")
    log.write_text("before\n")
    code = (
        "from ioopt.formats.native import write_text as w; print('printed'); "
        "w({!r}, 'written')"
    )
    with log.open("a") as out:
        subprocess.run(
            [sys.executable, "-c", code.format(name)], stdout=out, check=True
        )
    assert log.read_text() == "before\nprinted\nwritten"
    assert os.path.islink(name)


def test_names_as_long_as_the_file_system_allows(tmp_path):
    target = tmp_path / ("n" * 250 + ".json")
    write_text(target, "x")
    assert target.read_text() == "x"


def test_a_write_protected_file_is_left_alone(tmp_path, monkeypatch):
    target = tmp_path / "result.json"
    target.write_text("old")
    target.chmod(0o444)
    monkeypatch.setattr(
        os, "access", lambda path, mode: mode != os.W_OK
    )  # root may write all
    with pytest.raises(UsageError, match="write-protected"):
        write_text(target, "new")
    assert target.read_text() == "old"
