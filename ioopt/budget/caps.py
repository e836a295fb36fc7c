"""Choose caps for Nextflow with which all noisy runs keep the quota."""

from __future__ import annotations

from math import inf

from ioopt.budget.nextflow import Capped, Search, caps_key, caps_of_all_quotas
from ioopt.budget.noise import Noise, NoisyPeaks
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryProblem


class SafeCaps:
    """Caps of *problem* with their runs, and the peaks of their noisy runs.

    Neither the caps nor the noise depend on the quota. So whatever caps all noisy runs
    keep with one quota, they keep with each larger one. A run counts with the larger
    peak and the longer time of *problem* and of *judged*, the same workflow if tasks
    read more; noisy runs are of *judged*.
    """

    def __init__(
        self,
        problem: WorkDirectoryProblem,
        judged: WorkDirectoryProblem,
        noise: Noise,
        most_runs: int,
        most_noisy: int,
        deadline: Deadline,
    ) -> None:
        self.rows = caps_of_all_quotas(judged, most_runs, deadline)
        if judged is not problem:
            search = Search(problem, deadline, {})
            self.rows = [
                _worse(row, search.run(row["tasks"], row["forks"])) for row in self.rows
            ]
        self.noisy = NoisyPeaks(judged, noise, most_noisy, deadline)

    def noisy_peak(self, row: Json, most: float) -> int | None:
        """Return the peak of all noisy runs with the caps *row* if it is known to be at
        most *most* bytes, else None.
        """
        tasks, forks = row["tasks"], row["forks"]
        return self.noisy.keeps(
            caps_key(tasks, forks), lambda real: Capped(real, tasks, forks), most
        )

    def quickest(self, quota: int) -> Json | None:
        """Return the quickest caps that all runs keep with *quota* bytes, those with
        fewer caps of two; None if there are none.
        """
        rows = [row for row in self.rows if row["peak_bytes"] <= quota]
        rows.sort(key=lambda row: (row["makespan_seconds"], len(row["forks"])))
        for row in rows:
            if self.noisy_peak(row, quota) is not None:
                return row
        return None

    def least(self) -> tuple[float, Json | None]:
        """Return the least quota that all runs keep with some caps, and these caps;
        infinity and None if too few runs may be simulated.
        """
        least: tuple[float, Json | None] = (inf, None)
        for row in sorted(self.rows, key=lambda row: row["peak_bytes"]):
            if row["peak_bytes"] >= least[0]:
                break
            peak = self.noisy_peak(row, least[0])
            if peak is not None:
                least = min(
                    least, (max(peak, row["peak_bytes"]), row), key=lambda x: x[0]
                )
        return least


def _worse(row: Json, other: Json) -> Json:
    """Return *row* with the larger peak and the longer time of the two runs."""
    keys = ("peak_bytes", "makespan_seconds")
    return row | {key: max(row[key], other[key]) for key in keys}
