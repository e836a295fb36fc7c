"""Print how long ``WorkflowDispatcher`` with ``rolling`` takes for its first plan, as
the table of docs/embedding.md: the processor time of the first ``next``, in seconds.
"""

import time

from ioopt.embed import WorkflowDispatcher
from ioopt.problems.base import Json

LINKS: Json = {"remote_bytes_per_second": 12.5e6, "replica_bytes_per_second": 1e9}
NODES = 16
FILES = 200
COUNTS = (200, 500, 1000, 1800)


def first_plan_seconds(count: int) -> float:
    """Return the processor seconds of the first ``next`` with *count* ready tasks."""
    nodes: list[Json] = [{"id": f"n{i}", "cores": 8} for i in range(NODES)]
    files: list[Json] = [{"id": f"f{k}", "bytes": 64e6} for k in range(FILES)]
    run = WorkflowDispatcher(LINKS, nodes, files, policy="rolling")
    tasks: list[Json] = []
    for k in range(count):
        inputs = [f"f{k % FILES}"]
        tasks.append({"id": f"t{k}", "compute_seconds": 5 + k % 7, "inputs": inputs})
    run.submit(tasks)
    begun = time.process_time()
    run.next(now=0.0)
    return time.process_time() - begun


def main() -> None:
    """Print a row for each number of tasks, after a plan that makes the imports."""
    first_plan_seconds(10)
    for count in COUNTS:
        print(f"| {count:,} | {first_plan_seconds(count):.2g} |")


if __name__ == "__main__":
    main()
