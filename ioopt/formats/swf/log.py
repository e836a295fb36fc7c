"""Standard Workload Format (SWF): the job logs of the Parallel Workloads Archive, versions 1 to 2.2.

A line is one job: 18 numbers separated by blanks, ``-1`` where nothing is known; lines that begin
with ``;`` are comments, of which ``; Key: value`` is the header. Source: the archive's page
"The Standard Workload Format"; Chapin et al., JSSPP 1999. What real files do beyond that, and how
it is read, is listed in docs/formats.md. Times are seconds, memory is kilobytes per processor.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ioopt.errors import InstanceError
from ioopt.formats.native import named, read_bytes
from ioopt.formats.report import some

PARTIAL_STATUSES = frozenset({2, 3, 4})
"""Status values of lines that describe one piece of a job that was stopped and continued."""
CANCELLED_STATUS = 5
LARGEST = 1e12
"""No field of a real log comes near; larger numbers are damage."""


@dataclass(frozen=True, slots=True)
class SwfJob:
    """One line of a log; None where the log says ``-1`` or the line ends early.

    The fields stand in the order of the format (1 to 18). ``processors`` is the number allocated. Logs
    of other formats name users, groups, queues and partitions.
    """

    id: int
    submit_seconds: float | None = None
    wait_seconds: float | None = None
    run_seconds: float | None = None
    processors: int | None = None
    cpu_seconds: float | None = None
    memory_kilobytes: float | None = None
    requested_processors: int | None = None
    requested_seconds: float | None = None
    requested_memory_kilobytes: float | None = None
    status: int | None = None
    user: int | str | None = None
    group: int | str | None = None
    executable: int | None = None
    queue: int | str | None = None
    partition: int | str | None = None
    preceding_job: int | None = None
    think_seconds: float | None = None

    def size(self, requested: bool = False) -> int | None:
        """Processors of the job, those allocated first (or those requested first), None if unknown."""
        first, second = self.processors, self.requested_processors
        if requested:
            first, second = second, first
        return first or second


FIELDS = tuple(SwfJob.__dataclass_fields__)
_WHOLE = frozenset(
    {"id", "processors", "requested_processors", "status", "user", "group", "executable"}
    | {"queue", "partition", "preceding_job"}
)


@dataclass(frozen=True, slots=True)
class SwfTrace:
    """A log: its name, header (a key that stands more than once has its values in order), jobs, warnings."""

    name: str
    header: dict[str, tuple[str, ...]]
    jobs: tuple[SwfJob, ...]
    warnings: tuple[str, ...] = ()

    def header_number(self, *keys: str) -> int | None:
        """The first positive whole number that a header line of one of *keys* begins with."""
        for key in keys:
            for text in self.header.get(key, ()):
                found = re.match(r"\s*(\d{1,15})\b", text)
                if found and int(found.group(1)) > 0:
                    return int(found.group(1))
        return None

    @property
    def epoch(self) -> int | None:
        """The Unix time of second 0, where the header says it."""
        return self.header_number("UnixStartTime")

    def machine_processors(self) -> tuple[int, str | None]:
        """Processors of the machine, and a warning where the header does not say how many.

        ``MaxProcs``, else ``MaxNodes``, else the largest job.
        """
        stated = self.header_number("MaxProcs", "MaxNodes")
        if stated is not None:
            return stated, None
        largest = max((job.size() or 0 for job in self.jobs), default=0)
        if largest == 0:
            raise InstanceError(
                f"{self.name}: neither the header nor any job says how many processors there are; "
                "state the machine's size"
            )
        return largest, f"no MaxProcs or MaxNodes in the header: machine of {largest} processors"

    def unused(self, jobs: Iterable[SwfJob]) -> list[str]:
        """What the log says of *jobs*, and no instance keeps: a line each."""
        listed = tuple(jobs)
        fields = {"CPU times": "cpu_seconds", "memory": "memory_kilobytes"}
        known = [
            what
            for what, field in fields.items()
            if any(getattr(job, field) is not None for job in listed)
        ]
        said = [f"not used: {', '.join(known)} of the jobs"] if known else []
        chained = [job.id for job in listed if job.preceding_job]
        if chained:
            said.append(
                f"{len(chained)} jobs wait for a preceding job in the log; that is dropped: "
                f"{some(chained)}"
            )
        return said

    def usable_jobs(self) -> tuple[tuple[SwfJob, ...], list[str]]:
        """Jobs that ran, by submission, and a warning for each kind left out (rule 37 of batch I/O).

        Left out: pieces of a job that stands whole as well (status 2 to 4), jobs without submit
        time, run time or size, and cancelled jobs that never ran. A job number that stands again
        is given a number beyond all of the log, also of jobs left out.
        """
        whole = {job.id for job in self.jobs if job.status not in PARTIAL_STATUSES}
        rules: tuple[tuple[str, Callable[[SwfJob], bool]], ...] = (
            ("pieces of a job that stands whole (status 2-4)",
             lambda job: job.status in PARTIAL_STATUSES and job.id in whole),
            ("cancelled before they ran",
             lambda job: job.status == CANCELLED_STATUS and not job.run_seconds),
            ("without a submit time", lambda job: job.submit_seconds is None),
            ("without a run time", lambda job: job.run_seconds is None),
            ("without a size", lambda job: job.size() is None),
        )  # fmt: skip
        left_out: dict[str, list[int]] = {what: [] for what, _ in rules}
        kept = []
        for job in self.jobs:
            reason = next((what for what, test in rules if test(job)), None)
            if reason is None:
                kept.append(job)
            else:
                left_out[reason].append(job.id)
        warnings = [
            f"{len(ids)} jobs left out, {what}: {some(ids)}"
            for what, ids in left_out.items()
            if ids
        ]
        kept, renumbered = _with_unique_numbers(
            kept, 1 + max((job.id for job in self.jobs), default=0)
        )
        if renumbered:
            warnings.append(f"{len(renumbered)} job numbers stand more than once, renumbered: "
                            f"{some(renumbered)}")  # fmt: skip
        kept.sort(key=lambda job: (job.submit_seconds or 0.0, job.id))
        return tuple(kept), warnings


def _with_unique_numbers(jobs: Sequence[SwfJob], free: int) -> tuple[list[SwfJob], list[int]]:
    """Jobs with repeated numbers renumbered from *free* on, and the numbers that repeat."""
    seen: set[int] = set()
    out, renumbered = [], []
    for job in jobs:
        if job.id in seen:
            renumbered.append(job.id)
            job, free = replace(job, id=free), free + 1
        seen.add(job.id)
        out.append(job)
    return out, renumbered


def read_swf(source: str | os.PathLike[str]) -> SwfTrace:
    """Read a log (plain or gzipped, ``-`` for standard input).

    Raises InstanceError naming file and line for text that is not a number, or when no job stands
    in the file.
    """
    return parse_swf(log_text(source), named(source))


def log_text(source: str | os.PathLike[str]) -> str:
    """The text of a log: UTF-8, else Latin-1."""
    raw = read_bytes(source)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def parse_swf(text: str, name: str) -> SwfTrace:
    """Parse the *text* of a log; *name* is used in messages. See :func:`read_swf`."""
    header: dict[str, list[str]] = {}
    jobs: list[SwfJob] = []
    short: list[int] = []
    long: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith((";", "#")):
            _header_line(stripped.lstrip(";# \t"), header)
            continue
        words = stripped.partition(";")[0].split()
        if not words:
            continue
        if len(words) < len(FIELDS):
            short.append(number)
        elif len(words) > len(FIELDS):
            long.append(number)
        jobs.append(_job(words, f"{name}: line {number}"))
    if not jobs:
        raise InstanceError(f"{name}: no job lines; is this a log in the Standard Workload Format?")
    warnings = []
    if short:
        warnings.append(
            f"{len(short)} lines have fewer than 18 fields, the missing ones are taken as unknown: "
            f"line {some(short)}"
        )
    if long:
        warnings.append(
            f"{len(long)} lines have more than 18 fields, the rest is ignored: line {some(long)}"
        )
    return SwfTrace(
        name, {key: tuple(values) for key, values in header.items()}, tuple(jobs), tuple(warnings)
    )


def _header_line(text: str, header: dict[str, list[str]]) -> None:
    key, colon, value = text.partition(":")
    if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", key.strip()):
        header.setdefault(key.strip(), []).append(value.strip())


def _job(words: Sequence[str], where: str) -> SwfJob:
    values = [_number(word, field, where) for word, field in zip(words, FIELDS)]
    if values[0] is None:
        raise InstanceError(f"{where}: job number {words[0]!r} is not a whole number of 0 or more")
    return SwfJob(*values)  # type: ignore[arg-type]


def _number(word: str, field: str, where: str) -> float | int | None:
    """A field's value; negative means unknown (``-1``, and ``-1.00`` or ``-2`` in some logs)."""
    try:
        if "_" in word:  # Python reads 1_000 as a number, the format does not
            raise ValueError(word)
        value = float(word)
    except ValueError:
        raise InstanceError(f"{where}: {field} {word!r} is not a number") from None
    if not math.isfinite(value):
        raise InstanceError(f"{where}: {field} {word!r} is not a finite number")
    if abs(value) > LARGEST:
        raise InstanceError(f"{where}: {field} {word!r} is out of range")
    if value < 0:
        return None
    if field not in _WHOLE:
        return value
    if value != math.floor(value) and field == "id":
        raise InstanceError(f"{where}: job number {word!r} is not a whole number of 0 or more")
    # Some logs give averages (3.5 processors): the job held that many, so round up.
    return math.ceil(value)
