"""Which ready jobs to start now, under resource limits: the question a workflow engine asks.

Without instance objects: an engine asks with thousands of jobs.
"""

from ioopt.models.job_selection import ReadyJob
from ioopt.solvers.job_selection import Selection, load_solver, select

__all__ = ["ReadyJob", "Selection", "load_solver", "select"]
