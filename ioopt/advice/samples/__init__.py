"""Provide job logs of an invented machine, on which the advice can be tried.

The script ``scripts/tools/make_logs.py`` generates these logs.
"""

import os
from pathlib import Path

SAMPLES = {"month.swf": "month.swf.gz", "month.sacct": "month.sacct.gz"}
"""For each name of a sample, the name of its file in this folder."""


def sample_or_path(log: str) -> str:
    """Return the path of the sample called *log*. If a file of this name exists, or no
    sample has the name, return *log* itself.
    """
    if log in SAMPLES and not os.path.exists(log):
        return str(Path(__file__).parent / SAMPLES[log])
    return log
