"""Where the worked cases and real data stand, and a quiet plotting backend."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ioopt.options import Deadline

os.environ.setdefault("MPLBACKEND", "Agg")
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# A run started in the background may have inherited "ignore SIGINT"; tests send it to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What a property is tried on never depends on the speed of the machine, nor on luck; to look for
# new counterexamples: pytest --hypothesis-profile=explore.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("explore"), derandomize=True)
settings.load_profile("repeatable")

ROOT = Path(__file__).resolve().parent.parent


def deadline_of_checks(count: int) -> Deadline:
    """A deadline that expires once it has been asked *count* times, whatever the clock says."""
    ticks = itertools.count()
    return Deadline(count - 0.5, clock=lambda: float(next(ticks)))


def shared_root() -> Path:
    """Folder of worked cases and real data: ``IOOPT_SHARED`` or ``shared`` beside the checkout."""
    return Path(os.environ.get("IOOPT_SHARED", ROOT.parent / "shared"))


def shared_path(*parts: str) -> Path:
    """A path under the shared folder; the test is skipped, visibly, where it is missing."""
    path = shared_root().joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{Path(*parts)} is not here (set IOOPT_SHARED to the folder that holds it)")
    return path


def shared_files(folder: str, pattern: str = "*.json") -> list[Path]:
    """Files for parametrisation; empty where the folder is missing (pytest then skips visibly)."""
    return sorted(shared_root().joinpath(folder).glob(pattern))


@pytest.fixture(scope="session", autouse=True)
def a_library_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What tests and the pages' examples hand in never reaches the checkout's library."""
    os.environ["IOOPT_LIBRARY"] = str(tmp_path_factory.mktemp("library"))
