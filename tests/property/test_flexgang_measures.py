"""Properties of the quantum surface, the laboratory and the files of features F1 to F3."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioopt.measure.laboratory import batch_starts, hits
from ioopt.measure.quantum_chain import surface
from ioopt.problems.flexgang.perturbation import (
    Emp,
    PerturbationProblem,
)

quanta = st.floats(0.001, 0.1).map(lambda x: round(x, 5))
shapes = st.integers(1, 12)
donations = st.sampled_from(["return", "irrevocable"])


@settings(max_examples=60, deadline=None)
@given(on=quanta, off=quanta, burst=quanta, io=quanta, shape=shapes, donation=donations)
def test_surface_is_sound_everywhere(
    on: float, off: float, burst: float, io: float, shape: int, donation: Any
) -> None:
    found = surface(on, off, burst, io, shape=shape, donation=donation, processors=8)
    cycle = on + off
    bound = max(1.0, burst / (burst + io) * cycle / on)
    assert found.slowdown >= bound * (1 - 0.002)
    assert found.slowdown <= (burst + io + math.ceil(burst / on + 1) * cycle) / (burst + io)
    assert -1e-9 <= found.fragmentation <= on / cycle + 1e-9
    assert off / cycle - 1e-9 <= found.useful <= 1
    assert found.beta + found.useful + found.fragmentation == pytest.approx(1.0, abs=0.005)
    assert found.response_seconds == pytest.approx(found.slowdown * (burst + io) - io)


@settings(max_examples=12, deadline=None)
@given(on=quanta, off=quanta, factor=st.sampled_from([0.5, 4.0, 100.0]))
def test_only_ratios_of_times_matter_and_more_processors_fragment_more(
    on: float, off: float, factor: float
) -> None:
    small = surface(on, off)
    large = surface(on * factor, off * factor, 0.005 * factor, 0.020 * factor)
    assert large.slowdown == pytest.approx(small.slowdown, rel=1e-6)
    assert large.fragmentation == pytest.approx(small.fragmentation, abs=1e-6)
    assert surface(on, off, processors=2).fragmentation <= small.fragmentation + 1e-12


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10_000), batch=st.integers(1, 5), spacing=st.integers(1, 4), data=st.data()
)
def test_batches_never_overlap(seed: int, batch: int, spacing: int, data: Any) -> None:
    base = {"applications": (Emp(),), "batch": batch, "spacing_quanta": spacing, "work_quanta": 60}
    room = 42 // ((batch - 1) * spacing + 1)
    count = data.draw(st.integers(1, room * batch))
    problem = PerturbationProblem(**base, perturbations=count)
    starts = batch_starts(problem, np.random.default_rng(seed), problem.num_batches)
    assert len(starts) == problem.num_batches
    assert starts[0] >= 0
    assert starts[-1] + problem.reserved_quanta <= 42
    assert all(b - a >= problem.reserved_quanta for a, b in pairwise(starts))
    quanta = [quantum for quantum, _ in hits(problem, "Add_RR", np.random.default_rng(seed), count)]
    assert len(set(quanta)) == count
