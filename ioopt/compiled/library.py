"""Load the kernels that were compiled into machine code when ioopt was installed.

Where no C compiler was found at installation, the kernels run as plain Python. The
answers are the same.
"""

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from ioopt.compiled.memory import Machine, Maker, Plain
from ioopt.errors import BackendMissingError, UsageError

SOURCE = Path(__file__).with_name("kernels.c")
"""The kernels in C, made from their text by ``scripts/tools/kernels.py``."""
LIBRARY = Path(__file__).with_name("kernels.so")
"""The compiled kernels; the name is the same on every system."""
PLAIN = "IOOPT_PLAIN"
"""Environment variable: if it is set and not empty, kernels run as plain Python."""


MOST = 1 << 62
"""Numbers up to this are surely within the 64 bits of compiled kernels."""


Engine = Literal["auto", "python", "compiled"]
"""How kernels run; ``auto``: compiled if they can."""


def maker(most: int = 0, engine: Engine = "auto") -> Maker:
    """Return what makes the data of kernels and runs the kernels: compiled ones if
    there are any.

    *most* is the largest number that may occur. Above :data:`MOST` the kernels run as
    plain Python, where numbers have no limit. Raises BackendMissingError if *engine*
    asks for compiled kernels and there are none, UsageError if it is unknown or asks
    for compiled kernels above :data:`MOST`.
    """
    if engine not in get_args(Engine):
        known = ", ".join(get_args(Engine))
        raise UsageError(f"engine: {engine!r} is unknown; take one of {known}")
    library = None
    if engine != "python":
        library = loaded()
    if library is None and engine == "compiled":
        raise BackendMissingError(f"compiled kernels: {why_plain()}")
    if most > MOST and engine == "compiled":
        raise UsageError(
            f"engine=compiled: numbers up to {most} may occur, which have more than 64 "
            "bits; use engine=auto"
        )
    if library is None or most > MOST:
        return Plain()
    return Machine(library)


@cache
def loaded() -> ctypes.CDLL | None:
    """Return the compiled kernels, or None if there are none that can be used."""
    if why_plain():
        return None
    return ctypes.CDLL(str(LIBRARY))


@cache
def why_plain() -> str:
    """Return why kernels run as plain Python and what to do; empty if they do not."""
    if os.environ.get(PLAIN):
        return f"{PLAIN} is set"
    if not LIBRARY.exists():
        return (
            "no C compiler worked when ioopt was installed; install gcc or clang, then "
            "ioopt again"
        )
    try:
        library = ctypes.CDLL(str(LIBRARY))
        library.text_digest.restype = ctypes.c_char_p
        found = library.text_digest().decode()
        wanted = _digest_of_source()
    except (OSError, AttributeError) as error:
        return f"the compiled kernels cannot be loaded ({error}); install ioopt again"
    if found != wanted:
        return "the compiled kernels are of another version; install ioopt again"
    return ""


def _digest_of_source() -> str:
    """Return the digest of the C text, which its first line states."""
    with SOURCE.open(encoding="utf-8") as file:
        return file.readline().split()[2]
