"""Read accounting records of PBS and Torque: ``time;type;job;key=value ...``.

Each line records an event. Type E is the end of a job (PBS Professional Administrator's
Guide, "Format of Accounting Log Messages"; Torque writes the same).
"""

import re
from collections.abc import Mapping

from ioopt.formats.job_times import Times, epoch_of, job_of, span_of
from ioopt.formats.report import Warnings
from ioopt.formats.rows import BadRow, amount_of, bad_value, lines_of, read_rows
from ioopt.formats.swf.log import SwfJob

RECORD = re.compile(
    r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?;(\w);([^;]+);(.*)", re.ASCII
)
_JOB = re.compile(r"(\d{1,12})(\[\d*\]|-\d+)?(?:\..*)?", re.ASCII)
_WORD = re.compile(r"""([A-Za-z_][\w.]*)=("[^"]*"|'[^']*'|\S*)|\S+""")
FIELDS = frozenset(
    {
        "user",
        "group",
        "queue",
        "ctime",
        "qtime",
        "etime",
        "start",
        "end",
        "Exit_status",
        "exec_host",
        "exec_vnode",
        "total_execution_slots",
        "resources_used.ncpus",
        "Resource_List.walltime",
        "Resource_List.mppwidth",
        "Resource_List.nodes",
        "Resource_List.procs",
        "Resource_List.ncpus",
    }
)
"""Fields of a record that are read; other fields may be texts that contain ``=``."""
_TIMES = ("ctime", "qtime", "etime", "start", "end")


def read_pbs(
    text: str, name: str, said: Warnings, skip_bad: float | None = None
) -> tuple[list[SwfJob], list[str]]:
    """Return the jobs in *text*, and remarks on bad and repeated rows.

    A job that ran several times is returned once for each run. Guesses are added to
    *said*.
    """
    rows = (
        (number, line) for number, line in enumerate(lines_of(text), 1) if line.strip()
    )
    return read_rows(rows, lambda line: _job(line, said), name, skip_bad)


def _job(line: str, said: Warnings) -> SwfJob | None:
    """Return the job that the record *line* describes.

    Return None for a record of an event other than an end (E), a deletion (D) or an
    abort (A), and for the record of a whole job array. Raises BadRow for another line.
    """
    record = RECORD.fullmatch(line)
    if record is None:
        cause = "no PBS accounting record"
        raise BadRow(f"{cause}: {line[:60]!r}", cause)
    kind, name, text = record.groups()
    if kind not in ("D", "A", "E"):
        return None
    number = _JOB.fullmatch(name)
    if number is None:
        raise bad_value("job", name, "does not begin with a number")
    if number[2] == "[]":
        said["arrays, whose tasks have records of their own"].append(name)
        return None
    if kind != "E":
        said["deleted or aborted (their runs have records of their own)"].append(name)
    cells = _cells_of(name, text, kind == "E", said)
    times = _times_of(cells)
    state = "CANCELLED"
    if kind == "E":
        if times.end is None:
            cause = "no end of a job (cut off?)"
            raise BadRow(f"{cause}: {name}", cause)
        state = "COMPLETED" if cells.get("Exit_status") == "0" else ""
    return job_of(
        name,
        state,
        times,
        said,
        number=int(number[1]),
        processors=processors_of(cells),
        limit=_walltime(cells.get("Resource_List.walltime", "")) or None,
        user=cells.get("user"),
        group=cells.get("group"),
        partition=cells.get("queue"),
    )


def _cells_of(name: str, text: str, ended: bool, said: Warnings) -> dict[str, str]:
    """Return, for each field that is read from the record of job *name*, its value.

    *ended* is true if the record is of the end of a job, which must have the field end.
    """
    fields = fields_of(text)
    if ended and "end" not in dict(fields):  # The comment is not the last field.
        fields = fields_of(text, to_comment=False)
    cells = dict(fields)
    if len(cells) < len(set(fields)):
        said["a field occurs twice in a record; the last one counts"].append(name)
    return cells


def _times_of(cells: Mapping[str, str]) -> Times:
    """Return the times at which a job was created or queued, became eligible, started,
    ended.
    """
    times = {key: epoch_of(cells.get(key, ""), key) for key in _TIMES}
    submit = times["ctime"]
    if submit is None:
        submit = times["qtime"]
    return Times(submit, times["etime"], times["start"], times["end"])


def fields_of(text: str, to_comment: bool = True) -> list[tuple[str, str]]:
    """Return (name, value) of each field of a record that is read; values lose quotes.

    Fields that are not read may be users' texts with blanks and ``=``. Therefore a word
    that is not ``key=value`` belongs to the last such text, and so does everything
    between the two. With *to_comment*, nothing after a comment without quotes is a
    field. Users' texts come first in a record, so if a field occurs twice, the last one
    counts.

    >>> fields_of("jobname=my start=1 job queue=batch start=1714550400")
    [('queue', 'batch'), ('start', '1714550400')]
    >>> fields_of("user=u group=Domain Users jobname=my job queue=batch")
    [('user', 'u'), ('group', 'Domain Users'), ('queue', 'batch')]
    """
    kept: list[tuple[str, str]] = []
    text_begins: int | None = None
    for word in _WORD.finditer(text):
        key = word[1]
        value = word[2]
        if key is None and text_begins is not None:
            del kept[text_begins:]
        elif key is None:
            # No text has begun: a value with a blank, such as group=Domain Users.
            if kept:
                kept[-1] = (kept[-1][0], f"{kept[-1][1]} {word[0]}")
        elif key in FIELDS:
            kept.append((key, value.strip("\"'")))
        else:
            text_begins = len(kept)
            if to_comment and key == "comment" and value[:1] not in ("'", '"'):
                break
    return kept


def processors_of(cells: Mapping[str, str]) -> int | None:
    """Return the number of processors of a job; None if unknown.

    Allocated processors are preferred to requested ones. The requested ``ncpus`` are
    the last choice, as Torque sets them to 1 by default.
    """
    asked = "Resource_List."
    return (
        _slots(cells.get("exec_host", ""))
        or _vnode_processors(cells.get("exec_vnode", ""))
        or _count(cells, "total_execution_slots")
        or _count(cells, "resources_used.ncpus")
        or _count(cells, asked + "mppwidth")
        or _node_processors(cells.get(asked + "nodes", ""))
        or _count(cells, asked + "procs")
        or _count(cells, asked + "ncpus")
        or None
    )


_SLOT = re.compile(r"(\d{1,9})(?:-(\d{1,9})|\*(\d{1,9}))?", re.ASCII)


def _slots(text: str) -> int:
    """Count the processor slots in text such as ``n1/0*8+n2/0-7,9+n3/4``.

    Return 0 if a host has no slots.

    >>> _slots("n1/0*8+n2/0-7,9+n3/4"), _slots("n1+n2")
    (18, 0)
    """
    if not text:
        return 0
    total = 0
    for host in text.split("+"):
        place, _, listed = host.rpartition("/")
        if not place:
            return 0
        if "[" in place:  # several hosts
            raise bad_value("exec_host", host, "names no slots of one host")
        for part in listed.split(","):
            slot = _SLOT.fullmatch(part)
            if slot is None or (slot[2] and int(slot[2]) < int(slot[1])):
                raise bad_value("exec_host", host, "names no slots")
            first, last, many = slot.groups()
            if last:
                total += int(last) - int(first) + 1
            else:
                total += int(many or 1)
    return total


def _vnode_processors(text: str) -> int:
    """Return the sum of ``ncpus`` in text such as
    ``(n1:ncpus=4:mem=1kb)+(n2:ncpus=4)``.
    """
    total = 0
    for part in re.split(r"[()+:]", text):
        key, _, value = part.partition("=")
        if key == "ncpus":
            total += _whole(value, "ncpus of exec_vnode")
    return total


def _node_processors(text: str) -> int:
    """Return the number of processors in a request such as ``2:ppn=8:big+n1:ppn=4``.

    Each part is a number of nodes, or the name of one node, with the processors of each
    node as ppn (1 if missing). PBS Professional also writes ncpus for ppn.
    """
    if not text:
        return 0
    total = 0
    for part in text.partition("#")[0].split("+"):
        first, *properties = part.split(":")
        nodes = 1
        if not first[:1].isalpha():
            nodes = _whole(first, "nodes")
        per_node = 1
        for each in properties:
            key, _, value = each.partition("=")
            if key in ("ppn", "ncpus"):
                per_node = _whole(value, key)
        total += nodes * per_node
    return total


def _count(cells: Mapping[str, str], key: str) -> int:
    """Return the whole number in the field *key*; 0 if the field is missing."""
    if not cells.get(key):
        return 0
    return _whole(cells[key], key)


def _whole(text: str, what: str) -> int:
    amount = amount_of(text, what, 1e12)
    if amount != int(amount):
        raise bad_value(what, text, "is no whole number")
    return int(amount)


def _walltime(text: str) -> float | None:
    """Return the seconds of ``[[days:]hours:]minutes:seconds`` or of a plain number.

    Return None for empty text and for a word such as UNLIMITED.
    """
    if text and ":" not in text and not text[0].isalpha():
        return amount_of(text, "walltime")
    return span_of(text, "walltime")
