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
        self.other = None if judged is problem else Search(problem, deadline, {})
        self.noisy = NoisyPeaks(judged, noise, most_noisy, deadline)

    def quickest(self, quota: int) -> Json | None:
        """Return the quickest caps that all runs keep with *quota* bytes, those with
        fewer caps of two; None if there are none.
        """
        rows = [self._worse(row) for row in self.rows if row["peak_bytes"] <= quota]
        rows.sort(key=lambda row: (row["makespan_seconds"], len(row["forks"])))
        for row in rows:
            if self._noisy_peak(row, quota) is not None:
                return row
        return None

    def least(self) -> tuple[float, Json | None]:
        """Return the least quota that all runs keep with some caps, and these caps;
        infinity and None if too few runs may be simulated.
        """
        least, caps = inf, None
        for row in sorted(self.rows, key=lambda row: row["peak_bytes"]):
            peak = self._noisy_peak(row, least)
            if peak is not None:
                worse = self._worse(row)
                peak = max(peak, worse["peak_bytes"])
                if peak < least:
                    least, caps = peak, worse
        return least, caps

    def _noisy_peak(self, row: Json, most: float) -> int | None:
        """Return the peak of all noisy runs with the caps *row* if it is known to be at
        most *most* bytes, else None.
        """
        tasks, forks = row["tasks"], row["forks"]
        if row["peak_bytes"] > most:
            return None
        return self.noisy.keeps(
            caps_key(tasks, forks), lambda real: Capped(real, tasks, forks), most
        )

    def _worse(self, row: Json) -> Json:
        """Return the caps *row* with the larger peak and the longer time of both
        workflows.
        """
        if self.other is None:
            return row
        other = self.other.run(row["tasks"], row["forks"])
        keys = ("peak_bytes", "makespan_seconds")
        return row | {key: max(row[key], other[key]) for key in keys}
