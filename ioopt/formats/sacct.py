"""Read job logs of Slurm: the output of ``sacct -a -P --noconvert``.

A line is a job or a step. The character ``|`` separates cells (manual page of sacct,
"Job Accounting Fields"). Users' texts can contain this character and line breaks, which
sacct does not escape. A row that such a text has broken is put together again where the
heading makes that possible.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.job_times import Times, in_order, job_of, readings_of, span_of
from ioopt.formats.report import Warnings
from ioopt.formats.rows import (
    BadRow,
    amount_of,
    bad_value,
    cells_by_column,
    lines_of,
    read_rows,
)
from ioopt.formats.swf.log import SwfJob

NEEDED = ("Submit", "Start", "End", "State")
SIZES = ("AllocCPUS", "NCPUS", "AllocTRES", "ReqCPUS", "ReqTRES")
"""Columns that may state the number of processors of a job, in order of preference."""
NODES = ("AllocNodes", "NNodes", "AllocTRES")
"""Columns that may state the number of nodes of a job, in order of preference."""
_READ = frozenset(
    {
        *NEEDED,
        *SIZES,
        *NODES,
        "JobID",
        "JobIDRaw",
        "Cluster",
        "Eligible",
        "Elapsed",
        "ElapsedRaw",
        "Suspended",
        "Timelimit",
        "TimelimitRaw",
        "User",
        "Account",
        "QOS",
        "Partition",
    }
)
_PLAIN = _READ | {
    "",
    "AssocID",
    "CPUTime",
    "CPUTimeRAW",
    "ConsumedEnergy",
    "DBIndex",
    "DerivedExitCode",
    "ExitCode",
    "GID",
    "Group",
    "MaxRSS",
    "NTasks",
    "NodeList",
    "Planned",
    "Priority",
    "QOSRAW",
    "ReqMem",
    "ReqNodes",
    "Reserved",
    "SystemCPU",
    "TotalCPU",
    "UID",
    "UserCPU",
}
"""Columns of numbers, times and names given by the site; others may hold user text."""
_JOB = re.compile(r"(\d{1,12})(?:[_+.\[].*)?", re.ASCII)
_SCALED = re.compile(r"([^A-Za-z]+)([KMGTP]?)")
_LARGEST_SIZE = 1e12


def read_sacct(
    text: str,
    name: str,
    said: Warnings,
    zone: tzinfo,
    cluster: str | None = None,
    skip_bad: float | None = None,
) -> tuple[list[SwfJob], list[str]]:
    """Return the jobs in *text*, and remarks on bad and repeated rows.

    Steps of jobs are skipped. Times without an offset are in the time zone *zone*.
    *cluster* names the cluster to read if *text* has jobs of several. Oddities are
    added to *said*.
    """
    lines = [
        (number, line) for number, line in enumerate(lines_of(text), 1) if line.strip()
    ]
    heading = lines[0][1].strip()
    reader = _Reader(heading.split("|"), said, zone, cluster)
    lacking = reader.lacking()
    if lacking:
        raise InstanceError(
            f"{name}: line {lines[0][0]}: no column {', '.join(lacking)}; ask "
            "sacct for it (-o)"
        )
    rows = (row for row in reader.whole_rows(lines[1:]) if row[1].strip() != heading)
    jobs, remarks = read_rows(rows, reader.job, name, skip_bad)
    _check_cluster(reader.clusters, cluster, name)
    return jobs, remarks


def _check_cluster(rows: Mapping[str, int], cluster: str | None, name: str) -> None:
    """Raise an error if *cluster* has no rows, or if the user must choose a cluster.

    *rows* has the number of rows of each cluster in the log.
    """
    listed = ", ".join(f"{key} ({count} rows)" for key, count in rows.items())
    if cluster is not None and cluster not in rows:
        raise UsageError(
            f"--cluster {cluster}: {name} has {listed or 'no column Cluster'}"
        )
    if cluster is None and len(rows) > 1:
        raise InstanceError(f"{name}: jobs of {listed}; choose one: --cluster NAME")


@dataclass
class _Reader:
    """Read the rows below one heading.

    Oddities are added to ``said``; ``clusters`` counts the rows of each cluster.
    """

    columns: Sequence[str]
    said: Warnings
    zone: tzinfo
    cluster: str | None
    clusters: Counter[str] = field(default_factory=Counter)

    def lacking(self) -> list[str]:
        """Return the needed columns that the heading lacks."""
        lacking = [column for column in NEEDED if column not in self.columns]
        if not {"JobID", "JobIDRaw"} & set(self.columns):
            lacking.append("JobID")
        if not set(SIZES) & set(self.columns):
            lacking.append(" or ".join(SIZES))
        return lacking

    def whole_rows(self, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Yield (line number, row); join lines that a line break in a text has split.

        A line continues the row before it if it does not begin with a job and has fewer
        cells than the heading. Lines are joined only if the first column names the job.
        """
        joins = self.columns[0] in ("JobID", "JobIDRaw") and bool(self._texts())
        number = 0
        row = ""
        for at, line in lines:
            cells = line.split("|")
            names_job = len(cells) > 1 and _JOB.fullmatch(cells[0])
            begins = names_job or len(cells) >= len(self.columns)
            if row and joins and not begins:
                self.said["line breaks within a text, joined, in line"].append(str(at))
                row += f"\n{line}"
                continue
            if row:
                yield number, row
            number = at
            row = line
        if row:
            yield number, row

    def _texts(self) -> list[int]:
        """Return the positions of columns that may contain ``|`` or a line break."""
        return [
            place for place, column in enumerate(self.columns) if column not in _PLAIN
        ]

    def cells(self, line: str) -> dict[str, str]:
        """Return, for each column, its cell in the row *line*.

        If a row has more cells than the heading, a text in it contains ``|``. All cells
        from the first to the last column that may hold text are then emptied. Raises
        BadRow if a column that is read lies among them, or if the surplus may be a
        ``|`` at the end of the line.
        """
        cells = line.split("|")
        surplus = len(cells) - len(self.columns)
        texts = self._texts()
        if surplus > 0 and texts:
            first = texts[0]
            last = texts[-1]
            unsure = self.columns[first : last + 1]
            ends_empty = not cells[-1] and self.columns[-1] in _READ
            if _READ & set(unsure) or ends_empty:
                names = ", ".join(self.columns[place] for place in texts)
                raise BadRow(f"a | in {names}: leave {names} out of -o")
            self.said["a | within a text, in job"].append(cells[0])
            cells[first : last + 1 + surplus] = [""] * len(unsure)
        try:
            return cells_by_column(self.columns, cells)
        except BadRow as error:
            if surplus == 0:
                raise
            cause = "cut off, or a line break in a cell"
            if surplus > 0:
                cause = "a | in a cell"
            raise BadRow(f"{error}: {cause}", f"{error.cause}: {cause}") from None

    def job(self, line: str) -> SwfJob | None:
        """Return the job in a row; None for a step or for a job of another cluster."""
        if self.columns[0] in ("JobID", "JobIDRaw"):
            first = line.partition("|")[0]
            if "." in first:
                self.said["steps, not read"].append(first)
                return None
        row = self.cells(line)
        name = row.get("JobID") or row.get("JobIDRaw", "")
        if "." in name:
            self.said["steps, not read"].append(name)
            return None
        if row.get("Cluster"):
            self.clusters[row["Cluster"]] += 1
            if self.cluster not in (None, row["Cluster"]):
                return None
        return self._job(name, row)

    def _job(self, name: str, row: dict[str, str]) -> SwfJob:
        """Return the job *name*, whose row has the cells *row*."""
        raw = row.get("JobIDRaw") or name
        number = _JOB.fullmatch(raw)
        if number is None:
            raise bad_value("JobID", raw, "does not begin with a number")
        if "_" in name and not row.get("JobIDRaw"):
            what = (
                "array tasks by the number of their array (column JobIDRaw has "
                "their own)"
            )
            self.said[what].append(name)
        state = row["State"].partition(" ")[0]
        times, elapsed = self._times(row, state)
        limit = _limit_of(row)
        return job_of(
            name,
            state,
            times,
            self.said,
            number=int(number[1]),
            elapsed=elapsed,
            processors=self._amount(name, row, SIZES, "cpu"),
            nodes=self._amount(name, row, NODES, "node"),
            limit=limit or None,
            user=row.get("User") or None,
            group=row.get("Account") or None,
            queue=row.get("QOS") or None,
            partition=row.get("Partition", "").partition(",")[0] or None,
        )

    def _times(self, row: dict[str, str], state: str) -> tuple[Times, float | None]:
        """Return the times of a job in *state*, and its run time in seconds or None."""
        elapsed = _number_or_none(row.get("ElapsedRaw", ""), "ElapsedRaw")
        formatted = span_of(row.get("Elapsed", ""), "Elapsed")
        if elapsed is None:
            elapsed = formatted
        suspended = span_of(row.get("Suspended", ""), "Suspended") or 0.0
        lasted = None
        if elapsed is not None:
            lasted = elapsed + suspended
        readings = [
            readings_of(row.get(column, ""), self.zone, column, self.said)
            for column in ("Submit", "Eligible", "Start", "End")
        ]
        times = in_order(readings, lasted)
        if state in ("PENDING", "CANCELLED") and times.start == times.end:
            times = times._replace(start=None)
        if elapsed is None and suspended and times.start and times.end:
            elapsed = times.end - times.start - suspended
        return times, elapsed

    def _amount(
        self, name: str, row: dict[str, str], columns: Sequence[str], key: str
    ) -> int | None:
        """Return the number of processors or nodes of a job from the first of *columns*
        that gives it; *key* is its name in a list of TRES.

        Return None if no column does.
        """
        for column in columns:
            cell = row.get(column, "")
            if column.endswith("TRES"):
                cell = _trackable(cell, column, key)
            if not cell:
                continue
            size = _count(cell, column)
            if cell[-1:].isalpha():
                what = "sizes cut to K or M (sacct --noconvert has all digits)"
                self.said[what].append(name)
            if size:
                return size
        return None


def _trackable(cell: str, column: str, wanted: str) -> str:
    """Return the value of *wanted* in text such as ``billing=64,cpu=64,node=2``.

    Return empty text if it is missing.
    """
    found = ""
    if not cell:
        return found
    for part in cell.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise bad_value(column, cell, "is no list such as cpu=64,node=2")
        if key == wanted:
            found = value
    return found


def _count(cell: str, column: str) -> int:
    """Return the number of processors or nodes in ``64`` or ``2.50K`` (units are powers
    of 1024).
    """
    scaled = _SCALED.fullmatch(cell)
    if scaled is None:
        raise bad_value(column, cell, "is no number of processors or nodes")
    number, unit = scaled.groups()
    size = amount_of(number, column) * 1024 ** " KMGTP".index(unit or " ")
    if size > _LARGEST_SIZE or (size != int(size) and not unit):
        raise bad_value(column, cell, "is no number of processors or nodes")
    return round(size)


def _number_or_none(cell: str, column: str) -> float | None:
    """Return the number in *cell*; None if it is empty or a word such as UNLIMITED."""
    if not cell or cell[0].isalpha():
        return None
    return amount_of(cell, column)


def _limit_of(row: dict[str, str]) -> float | None:
    """Return the time limit of a job in seconds; None if unlimited or not recorded."""
    limit = span_of(row.get("Timelimit", ""), "Timelimit")
    minutes = _number_or_none(row.get("TimelimitRaw", ""), "TimelimitRaw")
    if minutes is not None:
        limit = 60.0 * minutes
    return limit
