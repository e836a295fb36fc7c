"""The limits of numbers, names and devices: one line and exit code 2,
whatever the command.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ioopt.cli.main import main
from ioopt.errors import UsageError
from ioopt.formats.native import check_writable, write_bytes
from ioopt.units import parse_bytes, parse_rate, parse_seconds

BATSIM = {
    "nb_res": 4,
    "jobs": [{"id": 1, "subtime": 0, "res": 4, "profile": "a", "walltime": 9}],
    "profiles": {"a": {"type": "delay", "delay": 3}},
}
TRACE = "name\trealtime\trchar\twchar\nA\t5s\t1 KB\t2 KB\n"
LONG_NAMES = ("n" * 256, "é" * 128, "n" * 256 + "/file")
"""A name may have 255 bytes on the file systems of Linux; é takes two."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a source for each importer."""
    monkeypatch.chdir(tmp_path)
    Path("b.json").write_text(json.dumps(BATSIM))
    Path("t.txt").write_text(TRACE)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error of a command that ends with exit code 2."""
    assert main(arguments) == 2
    lines = [
        line
        for line in capsys.readouterr().err.splitlines()
        if not line.startswith("ioopt: warning")
    ]
    assert len(lines) == 1 and lines[0].startswith("ioopt: ") and len(lines[0]) < 400
    return lines[0]


@pytest.mark.parametrize(
    "text", ["11e308GB/s", "11e308", "1e999kB/s", "9" * 400 + "TB/s"]
)
def test_a_rate_that_no_float_holds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"rate .* (too large|more than)"):
        parse_rate(text)


def test_times_and_sizes_have_the_same_limits() -> None:
    with pytest.raises(UsageError, match="time '11e308d' is too large"):
        parse_seconds("11e308d")
    with pytest.raises(UsageError, match="has more than 400 digits"):
        parse_bytes("9" * 5000 + "MB")
    # The largest double is 1.797..e308: 17e307 s is below it, 18e307 above.
    assert parse_seconds("17e307") == 1.7e308
    with pytest.raises(UsageError, match="too large"):
        parse_seconds("18e307s")
    assert parse_bytes("1e30MB") == 10**36


@pytest.mark.parametrize("key", ["node_rate", "storage_rate"])
@pytest.mark.parametrize("value", ["11e308GB/s", "1e999", "nan", "inf", "9" * 5000])
def test_machine_files_and_words_are_read_alike(
    folder: Path, capsys: pytest.CaptureFixture[str], key: str, value: str
) -> None:
    Path("m.toml").write_text(f'{key} = "{value}"\n')
    Path("m.json").write_text(json.dumps({key: value}))
    for machine in ("m.toml", "m.json", f"{key}={value}"):
        words = ("import", "batsim", "b.json", "--machine", machine, "-o", "o.json")
        said = refused(capsys, *words)
        assert key in said or key.replace("rate", "bytes_per_second") in said
        assert not Path("o.json").exists()


@pytest.mark.parametrize("key", ["node_rate", "nodes"])
def test_a_switch_is_no_number_of_a_machine(
    folder: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    Path("m.toml").write_text(f"{key} = true\n")
    said = refused(
        capsys, "import", "batsim", "b.json", "--machine", "m.toml", "-o", "o.json"
    )
    assert "wanted a number, not true" in said


@pytest.mark.parametrize(
    "number", ["1e999", "NaN", "Infinity", "-Infinity", "1" + "0" * 400]
)
def test_numbers_of_json_that_no_float_holds_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    Path("m.json").write_text(f'{{"node_rate": {number}}}')
    refused(capsys, "import", "batsim", "b.json", "--machine", "m.json", "-o", "o.json")
    text = json.dumps(BATSIM).replace('"delay": 3', f'"delay": {number}')
    Path("b.json").write_text(text)
    refused(capsys, "import", "batsim", "b.json", "-o", "o.json")


@pytest.mark.parametrize("name", LONG_NAMES)
def test_file_names_above_255_bytes_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    too_long = os.strerror(36)
    for read in (
        ("solve", name),
        ("check", "cycle3", name),
        ("import", "batsim", name, "-o", "o.json"),
        ("import", "darshan", name, "-o", "o.json"),
        ("import", "nextflow-trace", "t.txt", "--dag", name, "-o", "o.json"),
        ("import", "batsim", "b.json", "--machine", name, "-o", "o.json"),
    ):
        assert too_long in refused(capsys, *read)
    for written in (
        ("solve", "cycle3", "--solver", "minmin", "-o", name),
        ("import", "batsim", "b.json", "-o", name),
        ("export", "lp", "cycle3", "-o", name),
        ("instances", "generate", "replication", "-o", name),
    ):
        assert too_long in refused(capsys, *written)
    for write in (check_writable, lambda target: write_bytes(target, b"")):
        with pytest.raises(UsageError, match=too_long):
            write(name)


@pytest.mark.parametrize(
    "words",
    [
        ("import", "swf", "s.swf", "--io-period", "1e999", "-o", "o.json"),
        ("import", "batsim", "b.json", "--flops", "1e999", "-o", "o.json"),
        ("import", "batsim", "b.json", "--network-rate", "1e999", "-o", "o.json"),
        (
            "import",
            "work-directory",
            "t.txt",
            "--cores",
            "2",
            "--scratch",
            "1e999",
            "-o",
            "o",
        ),
        ("solve", "cycle3", "--solver", "minmin", "--gap", "1e999"),
    ],
)
def test_options_that_overflow_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    Path("s.swf").write_text(
        "; MaxProcs: 8\n1 0 1 10 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1\n"
    )
    refused(capsys, *words)


def test_more_copies_than_fit_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("t.txt", "--cores", "2", "--samples", "9" * 20, "-o", "o.json")
    assert "at most 1000000 tasks" in refused(
        capsys, "import", "work-directory", *words
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is not here")
@pytest.mark.parametrize(
    "words",
    [["--help"], ["check", "cycle3"], ["import", "batsim", "b.json", "-o", "-"]],
)
def test_a_full_device_behind_standard_output_is_one_line(
    folder: Path, words: list[str]
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ioopt", "-q", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == f"ioopt: standard output: {os.strerror(28)}\n"


@pytest.mark.parametrize(("given", "kept"), [(None, "1"), ("2", "2")])
def test_the_linear_algebra_of_a_command_has_one_thread_unless_told(
    monkeypatch: pytest.MonkeyPatch, given: str | None, kept: str
) -> None:
    """Threads that wait by working count towards no limit, but towards
    the processor's time.
    """
    for library in ("OPENBLAS", "MKL"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", given or "")
        if given is None:
            monkeypatch.delenv(f"{library}_NUM_THREADS")
    assert main(["--version"]) == 0
    assert os.environ["OPENBLAS_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == kept
