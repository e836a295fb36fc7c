"""Read the Standard Workload Format (SWF), versions 1 to 2.2.

These are the job logs of the Parallel Workloads Archive. Each line is one job. It has
18 numbers separated by blanks; ``-1`` stands for an unknown value. Lines that begin
with ``;`` are comments, and comments of the form ``; Key: value`` are the header.
Source: the archive's page "The Standard Workload Format"; Chapin et al., JSSPP 1999.
docs/formats.md lists how real files deviate from the format and how ioopt reads them.
Times are seconds, memory is kilobytes per processor.
"""

import math
import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from ioopt.errors import InstanceError
from ioopt.formats.native import decoded, named, read_bytes
from ioopt.formats.report import some
from ioopt.formats.rows import BadRow, bad_value, lines_of, number_of, read_rows

PARTIAL_STATUSES = frozenset({2, 3, 4})
"""Status values of lines that describe one part of a job which was stopped and
continued.
"""
CANCELLED_STATUS = 5
START = "UnixStartTime"
LARGEST = 1e12
"""Largest accepted number; the numbers in real logs are far below."""


@dataclass(frozen=True, slots=True)
class SwfJob:
    """Represent one job of a log, which is one line of an SWF file.

    A field is None if the line has ``-1`` or ends before it. The fields are in the
    order of the format (1 to 18). ``processors`` is the number of allocated processors.
    In logs of other formats, users, groups, queues and partitions are names. ``nodes``,
    the number of allocated nodes, is no field of the format; some logs of sacct have
    it.
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
    nodes: int | None = None

    def size(self, requested: bool = False) -> int | None:
        """Return the number of allocated processors or, if unknown, of requested ones.

        *requested* reverses the preference. Return None if neither is known.
        """
        if requested:
            return self.requested_processors or self.processors
        return self.processors or self.requested_processors


FIELDS = tuple(SwfJob.__dataclass_fields__)[:18]
_WHOLE = frozenset(
    {
        "id",
        "processors",
        "requested_processors",
        "status",
        "user",
        "group",
        "executable",
        "queue",
        "partition",
        "preceding_job",
    }
)
"""Fields that are whole numbers."""


@dataclass(frozen=True, slots=True)
class SwfTrace:
    """Represent a job log: its name, header, jobs and warnings.

    The header has, for each key, all its values in order. ``kind`` is ``swf``,
    ``sacct`` or ``pbs``. Logs of the last two do not state the machine; their header
    has the processors (MaxProcs) and nodes (MaxNodes) that were most in use at once.
    """

    name: str
    header: dict[str, tuple[str, ...]]
    jobs: tuple[SwfJob, ...]
    warnings: tuple[str, ...] = ()
    kind: str = "swf"

    def header_number(self, *keys: str) -> int | None:
        """Return the first positive whole number in the header lines of *keys*.

        Return None if there is none. Raises InstanceError for a number that is not
        clear, such as ``1 024``.
        """
        for key in keys:
            for text in self.header.get(key, ()):
                value = _header_number(text)
                if value is None:
                    raise InstanceError(
                        f"{self.name}: header line {key}: {text[:40]!r} does not "
                        "begin with a whole number; correct it, or state the size: "
                        "--machine nodes=N"
                    )
                if value:
                    return value
        return None

    @property
    def epoch(self) -> int | None:
        """Return the Unix time of second 0 of the log; None if the header has no clear
        one.
        """
        stated = map(_header_number, self.header.get(START, ()))
        return next(filter(None, stated), None)

    def machine_processors(self) -> tuple[int, str | None]:
        """Return the number of processors of the machine, and a warning or None.

        The number is ``MaxProcs``, else ``MaxNodes``, else the size of the largest job.
        The warning says that the number is a guess. Raises InstanceError if no job has
        a size.
        """
        stated = self.header_number(*HEADER_SIZES)
        if stated is not None:
            if self.kind == "swf":
                return stated, None
            return stated, self._most_in_use(f"{stated} processors")
        largest = max((job.size() or 0 for job in self.jobs), default=0)
        if largest == 0:
            raise InstanceError(
                f"{self.name}: neither the header nor any job says how many "
                "processors there are; state the machine's size"
            )
        return (
            largest,
            (
                "no MaxProcs or MaxNodes in the header: assumed a machine of "
                f"{largest} processors"
            ),
        )

    def machine_nodes(self) -> tuple[int, str]:
        """Return the number of nodes that were most in use at once, and a warning that
        this is a guess. The log must have the nodes of its jobs.
        """
        nodes = self.header_number("MaxNodes") or 1
        return nodes, self._most_in_use(f"{nodes} nodes")

    def _most_in_use(self, size: str) -> str:
        return f"assumed a machine of {size}, {MOST_IN_USE}; --machine nodes=N sets it"

    def unused(self, jobs: Iterable[SwfJob]) -> list[str]:
        """Return a line for each kind of data on *jobs* that no instance can keep."""
        listed = tuple(jobs)
        known: list[str] = []
        if any(job.cpu_seconds is not None for job in listed):
            known.append("CPU times")
        if any(job.memory_kilobytes is not None for job in listed):
            known.append("memory")
        said: list[str] = []
        if known:
            said.append(f"not used: {', '.join(known)} of the jobs")
        chained = [job.id for job in listed if job.preceding_job]
        if chained:
            said.append(
                f"{len(chained)} jobs wait for a preceding job in the log; that is "
                f"dropped: {some(chained)}"
            )
        return said

    def usable_jobs(self) -> tuple[tuple[SwfJob, ...], list[str]]:
        """Return the jobs that ran, in order of submission, and warnings about others.

        Three groups of jobs are left out (rule 37 of batch I/O): parts of a job that
        the log also lists as a whole (status 2 to 4), jobs without submit time, run
        time or size, and cancelled jobs that never ran. A job number that occurs again
        is replaced by a new number. New numbers are above all numbers in the log,
        including those of jobs left out.
        """
        whole = {job.id for job in self.jobs if job.status not in PARTIAL_STATUSES}
        left_out: dict[str, list[int]] = {reason: [] for reason in REASONS}
        kept = []
        for job in self.jobs:
            reason = _unusable(job, whole)
            if reason is None:
                kept.append(job)
            else:
                left_out[reason].append(job.id)
        warnings = [
            f"{len(ids)} jobs left out, {reason}: {some(ids)}"
            for reason, ids in left_out.items()
            if ids
        ]
        kept, renumbered = _with_unique_numbers(
            kept, 1 + max((job.id for job in self.jobs), default=0)
        )
        if renumbered:
            warnings.append(
                f"{len(renumbered)} job numbers occur more than once, renumbered: "
                f"{some(renumbered)}"
            )
        kept.sort(key=lambda job: (job.submit_seconds or 0.0, job.id))
        return tuple(kept), warnings


HEADER_SIZES = ("MaxProcs", "MaxNodes")
"""The header lines that say how many processors the machine has."""
MOST_IN_USE = "the most in use at once"
"""Words of the warning on a machine whose size is a guess."""
PART = "parts of a job that is also listed as a whole (status 2-4)"
CANCELLED = "cancelled before they ran"
NO_SUBMIT = "without a submit time"
NO_RUN = "without a run time"
NO_SIZE = "without a size"
REASONS = (PART, CANCELLED, NO_SUBMIT, NO_RUN, NO_SIZE)
"""Reasons why jobs are left out, in the order of the warnings."""


def _unusable(job: SwfJob, whole: Container[int]) -> str | None:
    """Return why *job* is left out, or None.

    *whole* has the numbers of the jobs that the log lists as a whole.
    """
    if job.status in PARTIAL_STATUSES and job.id in whole:
        return PART
    if job.status == CANCELLED_STATUS and not job.run_seconds:
        return CANCELLED
    if job.submit_seconds is None:
        return NO_SUBMIT
    if job.run_seconds is None:
        return NO_RUN
    if job.size() is None:
        return NO_SIZE
    return None


def _header_number(text: str) -> int | None:
    """Return the whole number at the beginning of *text*, such as ``1,024``.

    Return 0 if *text* does not begin with a digit. Return None if the number is
    unclear: ``1 024`` may be one number or two.
    """
    if not text[:1].isdigit():
        return 0
    first, *rest = text.split()
    if len(first) <= 3 and rest and re.match(r"\d{3}(?!\d)", rest[0]):
        return None
    try:
        value = number_of(first.rstrip(",;."), "header")
    except BadRow:
        return None
    if value != int(value) or value >= LARGEST:
        return None
    return int(value)


def _with_unique_numbers(
    jobs: Sequence[SwfJob], free: int
) -> tuple[list[SwfJob], list[int]]:
    """Give jobs with repeated numbers new numbers, counted up from *free*.

    Return the jobs, and the numbers that were repeated.
    """
    seen: set[int] = set()
    out: list[SwfJob] = []
    renumbered: list[int] = []
    for job in jobs:
        if job.id in seen:
            renumbered.append(job.id)
            job = replace(job, id=free)
            free += 1
        seen.add(job.id)
        out.append(job)
    return out, renumbered


def read_swf(source: str | os.PathLike[str], skip_bad: float | None = None) -> SwfTrace:
    """Read a log from a plain or gzipped file, or from standard input (``-``).

    See :func:`parse_swf`.
    """
    return parse_swf(log_text(source), named(source), skip_bad)


def log_text(source: str | os.PathLike[str]) -> str:
    """Return the text of a log, decoded as UTF-8 or else as Latin-1."""
    return decoded(read_bytes(source), named(source), "latin-1")


def parse_swf(text: str, name: str, skip_bad: float | None = None) -> SwfTrace:
    """Parse *text*, the contents of the log *name*.

    A row is bad if its number of fields is not that of most rows. Raises InstanceError
    with file and line for a bad row, unless *skip_bad* allows it (see
    :func:`read_rows`). Raises InstanceError if there is no job.
    """
    header, rows = _header_and_rows(text)
    lengths = Counter(len(text.split()) for _, text in rows)
    width = 0
    if lengths:
        width = lengths.most_common(1)[0][0]
    jobs, warnings = read_rows(
        rows, lambda row: _job(row.split(), width), name, skip_bad
    )
    if not jobs:
        raise InstanceError(
            f"{name}: no job lines; is this a log in the Standard Workload Format?"
        )
    if width < len(FIELDS):
        warnings.append(
            f"lines have {width} of 18 fields, the others are taken as unknown"
        )
    elif width > len(FIELDS):
        warnings.append(f"lines have {width} fields, those after the 18th are ignored")
    unclear = [text for text in header.get(START, ()) if _header_number(text) is None]
    if unclear:
        warnings.append(
            f"header line {START}: {unclear[0][:40]!r} is not a time in seconds"
        )
    stated = {key: tuple(values) for key, values in header.items()}
    return SwfTrace(name, stated, tuple(jobs), tuple(warnings))


def _header_and_rows(
    text: str,
) -> tuple[dict[str, list[str]], list[tuple[int, str]]]:
    """Return the values of each header key, and (line number, text) of each line of a
    job.
    """
    header: dict[str, list[str]] = {}
    rows: list[tuple[int, str]] = []
    for number, line in enumerate(lines_of(text), 1):
        stripped = line.strip()
        if stripped.startswith((";", "#")):
            _header_line(stripped.lstrip(";# \t"), header)
            continue
        fields = stripped.partition(";")[0].rstrip()
        if fields:
            rows.append((number, fields))
    return header, rows


def _header_line(text: str, header: dict[str, list[str]]) -> None:
    """Add key and value of a comment to *header* if it has the form ``Key: value``."""
    key, colon, value = text.partition(":")
    if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", key.strip()):
        header.setdefault(key.strip(), []).append(value.strip())


def _job(words: Sequence[str], width: int) -> SwfJob:
    """Return the job of a line; raise BadRow unless the line has *width* words."""
    if len(words) != width:
        how = "longer" if len(words) > width else "shorter"
        counts = f"{len(words)} fields, but most rows have {width}"
        raise BadRow(counts, f"{how} than most rows")
    values = [_number(word, field) for word, field in zip(words, FIELDS)]
    if values[0] is None:
        raise bad_value("job number", words[0], "is not a whole number of 0 or more")
    return SwfJob(*values)  # type: ignore[arg-type]


def _number(word: str, field: str) -> float | int | None:
    """Return *word* as the value of *field*; None if it is negative.

    Unknown values are ``-1``; some logs write ``-1.00`` or ``-2``.
    """
    value = number_of(word, field)
    if abs(value) > LARGEST:
        raise bad_value(field, word, "is out of range")
    if value < 0:
        return None
    if field not in _WHOLE:
        return value
    if value != math.floor(value) and field == "id":
        raise bad_value("job number", word, "is not a whole number of 0 or more")
    # Some logs give averages (3.5 processors); round up to a whole number.
    return math.ceil(value)
