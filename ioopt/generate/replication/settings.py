"""Settings and presets of the replication workloads.

Sizes may be text such as ``500MB``, rates text such as ``12.5MB/s`` or ``100Mbps``. The
defaults are those of Sections 5.1 and 5.2 of the paper: 4 compute and 4 storage nodes,
a 100 Mbps link, 8 Gbps between the nodes, 0.001 s of computing per MB.
"""

from typing import Annotated, Literal

from pydantic import Field

from ioopt.formats.values import Number, Rate, figure
from ioopt.generate import PresetSettings, variant
from ioopt.problems.replication import LinkModel
from ioopt.units import parse_bytes, parse_rate

Disk = Annotated[
    Annotated[int, Field(gt=0)] | None, figure(parse_bytes, unlimited=None)
]
"""The disk of a compute node in bytes; None is unlimited."""
Cap = Annotated[
    Literal["disk", "none"] | Annotated[int, Field(gt=0)],
    figure(parse_bytes, disk="disk", none="none"),
]
"""Limit of the total input of a task: the disk, none, or a number of bytes."""
OptionalRate = Annotated[
    Annotated[float, Field(gt=0, allow_inf_nan=False)] | None,
    figure(parse_rate, none=None),
]
"""A rate in bytes per second, or None."""
Overlap = Annotated[float, Field(ge=0, le=0.999)]
"""The overlap of the paper as a fraction: 0.85 stands for 85 %."""


class Settings(PresetSettings):
    """Settings that all applications have."""

    tasks: Number = 100
    """Number of tasks."""
    nodes: Number = 4
    """Number of compute nodes."""
    storage_nodes: Number = 4
    """Number of storage nodes that hold the files, if ``storage_rate`` is given."""
    disk: Disk = 500_000_000
    """Disk of a compute node in bytes; None is unlimited."""
    link: LinkModel = "shared"
    """Whether the nodes share the link to remote storage or have one each."""
    remote_rate: Rate = 12.5e6
    """Rate of the link to remote storage in bytes per second."""
    replica_rate: Rate = 1e9
    """Rate between two compute nodes in bytes per second."""
    node_disk_rate: OptionalRate = None
    """Rate of the disk of a compute node. If None, only the network interface limits a
    copy.
    """
    storage_rate: OptionalRate = None
    """Rate of the disk of a storage node; if None, there are no storage nodes."""
    overlap: Overlap = 0.85
    """Share of the input that tasks have in common, as the paper defines it."""
    compute_seconds_per_mb: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.001
    """Compute seconds of a task for each MB that it reads."""
    order: Literal["random", "submission"] = "random"
    """Order of the tasks: random, or with ``submission`` by hot spot, then by the first
    file they read.
    """


class ImageSettings(Settings):
    """Settings of IMAGE, whose tasks read images of some patients over some dates."""

    cohort: Number = 6
    """Number of patients under study, of 2,000. Each has one image for each date."""
    patients_per_task: Number = 2
    """Number of patients whose images a task reads."""
    files_per_task: Number = 6
    """Mean number of files that a task reads."""
    spread: Annotated[int, Field(ge=0)] = 2
    """The number of files of a task is drawn evenly from ``files_per_task`` - spread to
    ``files_per_task`` + spread.
    """
    ct_share: Annotated[float, Field(ge=0, le=1)] = 0.77
    """Share of images of 64 MB. With 0.77, the mean is 0.77 x 64 MB + 0.23 x 4 MB = 50
    MB, which is 300 MB for a task.
    """
    cap: Cap = "disk"
    """Limit of the total input of a task: the disk, none, or a number of bytes."""


class FollowUpSettings(ImageSettings):
    """Settings of IMAGE in which a larger batch has more patients over the same dates.

    In :class:`ImageSettings`, a larger batch has more dates of the same patients. The
    overlap determines the number of patients.
    """

    cohort: Number = 2000
    """Number of patients from which the tasks choose."""
    dates: Number = 15
    """Number of dates of the follow-up. Each patient has one image for each date."""
    popularity: Annotated[float, Field(ge=0, le=4)] = 1.0
    """Exponent of popularity (Zipf): patient r is drawn with odds 1 / r ** popularity.
    With 0, all patients have the same odds.
    """
    together: bool = False
    """Whether the patients of a task are neighbours, of which the first one is drawn
    evenly.
    """


class SatSettings(Settings):
    """Settings of SAT, whose tasks read chunks of a window near one of four hot
    spots.
    """

    disk: Disk = 1_500_000_000
    """Disk of a compute node in bytes; None is unlimited."""
    windows: Literal["curve", "box"] = "curve"
    """Form of a window: a stretch of the Hilbert curve, or cells over some days."""
    window_cells: Literal[1, 2, 4] = 4
    """Number of cells of a box. Few cells over many days overlap less."""
    files_per_task: Number = 8
    """Mean number of files that a task reads."""
    spread: Annotated[int, Field(ge=0)] = 1
    """The number of files of a task is drawn evenly from ``files_per_task`` - spread to
    ``files_per_task`` + spread."""
    days: Number = 20
    """Number of days of satellite data."""
    cap: Cap = "disk"
    """Limit of the total input of a task: the disk, none, or a number of bytes."""


class PpaSettings(Settings):
    """Settings of PPA, whose tasks read one file each."""

    tasks: Number = 500
    """Number of tasks."""
    large_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of files of 64 MB; the others have 4 MB."""


PRESETS: dict[str, type[Settings]] = {
    "image-85": ImageSettings,
    "image-40": variant(ImageSettings, overlap=0.40),
    "image-0": variant(ImageSettings, overlap=0.0),
    "image-85-follow-up": FollowUpSettings,
    "image-85-windows": variant(FollowUpSettings, together=True),
    "bipartite-85": variant(FollowUpSettings, dates=1, patients_per_task=8),
    "sat-85": SatSettings,
    "sat-40": variant(SatSettings, overlap=0.40, files_per_task=14),
    "sat-10": variant(SatSettings, overlap=0.10, files_per_task=14, window_cells=1),
    "ppa": PpaSettings,
    # Figure 6
    "ppa-2000": variant(PpaSettings, tasks=2000, nodes=8),
    # This preset is small enough to be solved to optimality at once.
    "tiny": variant(ImageSettings, tasks=8, nodes=2, disk=None, overlap=0.5),
}
"""For each preset, its settings class; the defaults of the fields are the preset."""
