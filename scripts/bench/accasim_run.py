"""AccaSim (Galleguillos et al., pip install accasim) on one trace without I/O, for the benchmark.

``python accasim_run.py TRACE.swf CONFIG.json FOLDER``: EASY backfilling, first fit; prints a JSON
line with the processor seconds of the simulation and the peak memory in bytes.
"""

import collections
import collections.abc
import contextlib
import io
import json
import sys
import time

from frame import peak_bytes, timed

# AccaSim 1.1.3 still looks for these where Python 3.9 and older had them.
for name in ("Mapping", "MutableMapping", "Sequence", "Iterable", "Hashable", "Callable"):
    setattr(collections, name, getattr(collections.abc, name))


def main(workload: str, config: str, folder: str) -> None:
    """Run the simulation and print its figures."""
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import EASYBackfilling
    from accasim.base.simulator_class import Simulator

    with contextlib.redirect_stdout(io.StringIO()):
        simulator = Simulator(
            workload, config, EASYBackfilling(FirstFit()), RESULTS_FOLDER_PATH=folder,
            scheduling_output=True, statistics_output=True, show_statistics=False,
        )  # fmt: skip
        seconds, _ = timed(simulator.start_simulation, time.process_time)
    print(json.dumps({"seconds": seconds, "memory_bytes": peak_bytes()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
