"""Small records, made by hand, for tests of validations."""

from __future__ import annotations

from ioopt.validation.record import Record, RecordedTask

MB = 10**6


def task(
    name: str,
    start: float,
    end: float,
    host: str | None = "h1",
    computes: float = 0.0,
    cores: int = 1,
) -> RecordedTask:
    """Return a task that was submitted when it started, and used a processor for
    *computes* seconds.
    """
    seconds = end - start
    return RecordedTask(
        id=name,
        process=name,
        tag=None,
        host=host,
        submit=start,
        start=start,
        end=end,
        realtime=seconds,
        cpu_share=computes / seconds,
        cores=cores,
        memory_bytes=0,
        read_bytes=None,
        asked_bytes=None,
        written_bytes=0,
    )


def pair(host: str = "h1") -> Record:
    """Return a record in which b, on *host*, reads the 100 MB that a wrote and writes
    50 MB. They compute for 2 s and for 3 s.
    """
    return Record(
        "pair",
        (task("a", 0, 20, computes=2), task("b", 20, 50, host, computes=3)),
        files={"x": 100 * MB, "y": 50 * MB},
        inputs={"a": (), "b": ("x",)},
        outputs={"a": ("x",), "b": ("y",)},
    )
