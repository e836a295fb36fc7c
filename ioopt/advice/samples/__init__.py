"""Job logs to try advice on, of a machine that does not exist.

``scripts/tools/make_logs.py`` makes them.
"""

import os
from pathlib import Path

SAMPLES = {"month.swf": "month.swf.gz", "month.sacct": "month.sacct.gz"}
"""The file of each name."""


def sample_or_path(log: str) -> str:
    """Return the path of the sample called *log*, else *log*; a file comes first."""
    if log in SAMPLES and not os.path.exists(log):
        return str(Path(__file__).parent / SAMPLES[log])
    return log
