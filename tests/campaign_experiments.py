"""Functions that replace the runs of a study; workers import this module by name."""

import os
import signal
import sys
import time
from typing import Any


def square(seed: int, scale: float = 1.0) -> dict[str, float]:
    return {"value": scale * seed * seed}


def refuse(seed: int) -> dict[str, float]:
    if seed == 3:
        raise ValueError("three is too many")
    return square(seed)


def stop(seed: int) -> dict[str, float]:
    if seed == 3:
        sys.exit("three is refused")
    return square(seed)


def die(seed: int) -> dict[str, float]:
    if seed == 3:
        os._exit(1)
    return square(seed)


def kill(seed: int) -> dict[str, float]:
    if seed == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(seed)


def overstay(seed: int) -> dict[str, float]:
    while seed == 3:
        time.monotonic()
    return square(seed)


def hoard(seed: int) -> dict[str, float]:
    """Fill memory in steps, so that the process that watches the worker notices it."""
    held = []
    while seed == 3:
        held.append(bytearray(os.urandom(1 << 20)) * 8)
    return square(seed)


def listed(seed: int) -> Any:
    return [seed]


def opaque(seed: int) -> dict[str, Any]:
    return {"value": object()}
