"""Provide job logs of an invented machine, to try the advice on.

``scripts/tools/make_logs.py`` makes them.
"""

import os
from pathlib import Path

SAMPLES = {"month.swf": "month.swf.gz", "month.sacct": "month.sacct.gz"}
"""Sample name -> its file."""


def sample_or_path(log: str) -> str:
    """Return the path of the sample called *log*, or *log* itself when it is a file or
    no sample has that name.
    """
    if log in SAMPLES and not os.path.exists(log):
        return str(Path(__file__).parent / SAMPLES[log])
    return log
