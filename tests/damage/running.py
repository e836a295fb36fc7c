"""Run damaged inputs in a child process with limited memory and CPU time, and report
faults.
"""

import contextlib
import io
import multiprocessing
import os
import random
import resource
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_SECONDS = 60.0  # only runs that hang take this long
MOST_BYTES = 500 << 20
EXIT_CODES = frozenset({0, 2, 3, 4, 5})
"""Exit codes of an answer, or of a refusal in one line."""
SOLVED_CODES = EXIT_CODES - {5}
"""Exit codes of ``solve``: a solver's plan never violates a rule of its instance."""

Command = Callable[[str, str], list[str]]
"""Return the arguments of a command, given a damaged file and an output file."""


@dataclass(frozen=True)
class Reader:
    """A reader of files, with its inputs, the function that damages them, and its
    commands.

    ``weight`` is its share of all inputs. ``beside`` are further files in the folder.
    ``codes`` are the exit codes that are no fault.
    """

    name: str
    texts: Callable[[], list[bytes]]
    mutate: Callable[[bytes, random.Random], bytes]
    commands: tuple[Command, ...] = ()
    weight: float = 1.0
    direct: Callable[[bytes], int] | None = None
    ending: str = ""
    beside: Mapping[str, bytes] = field(default_factory=dict)
    codes: frozenset[int] = EXIT_CODES


def run_command(arguments: list[str]) -> tuple[int, str]:
    """Return the exit code and the standard error of one command of ioopt."""
    from ioopt.cli.main import main

    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogateescape"),
        io.StringIO(),
    )
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return code, err.getvalue()


class TooLong(BaseException):
    """Raised when an input has used up its CPU time."""


def _too_long(*_: Any) -> None:
    raise TooLong


@dataclass
class Found:
    """The outcome of the inputs of one reader: their number for each exit code, and the
    faults.
    """

    reader: str
    codes: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0
    most_seconds: float = 0.0
    most_bytes: int = 0


def _memory_bytes() -> int:
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[0]) * resource.getpagesize()


def _most_resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _work(
    reader: Reader, seed: int, count: int, keep: str | None, warm: int, pipe: Any
) -> None:
    signal.signal(signal.SIGPROF, _too_long)
    found = Found(reader.name)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, content in reader.beside.items():
            Path(name).write_bytes(content)
        texts = reader.texts()
        for number, text in enumerate(
            texts[:warm]
        ):  # import and compile everything before memory is limited
            _run_one(reader, text, folder, random.Random(number), found, warm=True)
        found = Found(reader.name, found.codes - found.codes, found.faults)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        # Threads reserve much memory that they never use, so their limit is higher.
        # Resident memory is measured in any case.
        most = MOST_BYTES if reader.direct is None else 16 * MOST_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (_memory_bytes() + most, hard))
        resident = _most_resident()
        begun = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        for number in range(count):
            rng = random.Random(f"{reader.name} {seed} {number}")
            data = reader.mutate(rng.choice(texts), rng)
            fault = _run_one(reader, data, folder, rng, found)
            if fault and keep:
                Path(keep, f"{reader.name}-{seed}-{number}{reader.ending}").write_bytes(
                    data
                )
            if fault:
                found.faults.append(f"{reader.name} {seed} {number}: {fault}")
        os.chdir("/")
    found.seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun
    found.most_bytes = _most_resident() - resident
    pipe.send(found)


@contextlib.contextmanager
def _placed(path: str, data: bytes, chance: float) -> Iterator[None]:
    """Write *data* to *path* for the time of the context.

    With a small *chance* the path is a loop of links, or a file that a thread keeps
    changing.
    """
    over = threading.Event()

    def change() -> None:
        while not over.is_set():
            for content in (data[: len(data) // 2], data):
                Path(path).write_bytes(content)

    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    if chance < 0.005:
        os.symlink(path, path + "-link")
        os.symlink(path + "-link", path)
    else:
        Path(path).write_bytes(data)
    writer = threading.Thread(target=change)
    if 0.005 <= chance < 0.01:
        writer.start()
    try:
        yield
    finally:
        over.set()
        if writer.ident:
            writer.join()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + "-link")


def _run_one(
    reader: Reader,
    data: bytes,
    folder: str,
    rng: random.Random,
    found: Found,
    warm: bool = False,
) -> str | None:
    """Run one input; return a description of the fault, or None."""
    code, err = -1, ""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    signal.setitimer(signal.ITIMER_PROF, 0 if warm else MOST_SECONDS)
    arguments: list[str] = []
    try:
        if reader.direct is not None:
            code = reader.direct(data)
        else:
            path = os.path.join(folder, f"damaged{reader.ending}")
            arguments = rng.choice(reader.commands)(path, os.path.join(folder, "out"))
            with _placed(path, data, 1.0 if warm else rng.random()):
                code, err = run_command(arguments)
    except TooLong:
        return f"more than {MOST_SECONDS} CPU seconds: {arguments[:2]}"
    except Exception as error:
        err = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    found.codes[code] += 1
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    found.most_seconds = max(found.most_seconds, spent)
    errors = [line for line in err.splitlines() if line.startswith("ioopt: ")]
    refused = code == 2 and reader.direct is None
    if code in reader.codes and not (refused and len(errors) != 1):
        return None
    return f"exit {code}: {' '.join(arguments[:2])}: {err.strip()[-300:]}"


def run_reader(
    reader: Reader, count: int, seed: int = 0, keep: str | None = None, warm: int = 2
) -> Found:
    """Run *count* damaged inputs of *reader* in a child process; *keep* is a folder for
    faults.

    Before them, *warm* intact inputs are run, so that imports and compilation do not
    count for any damaged input.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(
        target=_work, args=(reader, seed, count, keep, warm, sender)
    )
    child.start()
    sender.close()
    try:
        found: Found = receiver.recv()
    except EOFError:
        child.join()
        found = Found(
            reader.name, faults=[f"{reader.name} {seed}: killed ({child.exitcode})"]
        )
    child.join()
    return found
