"""The page on a validation, of answers made by hand."""

import re
from dataclasses import replace

import pytest
from recorded_samples import task

from ioopt.validation import page
from ioopt.validation.answer import (
    Answer,
    NodeDisks,
    Planned,
    Recorded,
    Replayed,
    ValidatedTask,
    Validation,
)
from ioopt.validation.record import Record
from ioopt.validation.summary import as_text, rows


def answer(count=3, host="h1"):
    """An answer with *count* tasks that are a second late in the replay."""
    tasks = [task(f"p<{k % 7}> ({k})", k, k + 2, host, 1) for k in range(count)]
    late = [
        {
            "id": one.id,
            "node": one.host,
            "start_seconds": one.start,
            "end_seconds": one.end + 1,
        }
        for one in tasks
    ]
    makespan = count + 1.0
    found = Validation(
        storage="nfs",
        recorded=Recorded(makespan_seconds=makespan),
        replayed=Replayed(makespan_seconds=makespan + 1, error=0.25, band=(4, 5, 6)),
        fitted={"overhead_seconds": 1.0, "cache_bytes": None},
        fitted_on=1,
        tasks=tuple(
            ValidatedTask(id=one.id, recorded_seconds=2, replayed_seconds=3)
            for one in tasks
        ),
        plan=Planned(
            solver="link-aware", makespan_seconds=makespan, saves=0.3, certain=False
        ),
        node_disks=NodeDisks(
            shared_makespan_seconds=10,
            makespan_seconds=9,
            gain=10 / 9,
            bytes_per_node=10**9,
        ),
        notes=("a <b> note",),
    )
    return Answer(
        found, Record("r.txt", tuple(tasks)), {"tasks": late}, {"tasks": late}
    )


@pytest.mark.slow
def test_a_page_of_a_thousand_tasks_is_below_a_megabyte():
    text = page.page_of(answer(1000))
    assert len(text) < 1_000_000 and text.count("<svg") == 1


def test_names_and_notes_are_escaped():
    text = page.page_of(answer())
    assert "a &lt;b&gt; note" in text and "p&lt;0&gt; (0)" in text
    assert not re.search(r"<b> note|<td[^>]*>p<0>", text)


def test_without_matplotlib_the_page_has_words_in_place_of_the_picture(monkeypatch):
    monkeypatch.setattr(page, "can_draw", lambda: False)
    text = page.page_of(answer())
    assert "ioopt[plot]" in text and "<svg" not in text
    assert "Fitted constants" in text


def test_what_is_not_answered_is_not_on_the_page():
    full = answer(host=None)
    bare = full.validation.model_copy(
        update={"replayed": None, "plan": None, "node_disks": None, "fitted_on": 0}
    )
    lacking = replace(
        full, validation=bare, replayed_schedule=None, planned_schedule=None
    )
    text = page.page_of(lacking)
    assert "differ most" not in text and "Fitted constants" not in text
    assert [run.title for run in page.runs(lacking)] == ["recorded, 4 s"]
    assert dict(rows(bare)).keys() == {"recorded", "storage", "assumed", "replayed"}


def test_no_kind_of_storage_is_named_that_was_only_fitted():
    found = answer().validation
    assert "not recorded (--storage says another)" in dict(rows(found))["storage"]
    stated = found.model_copy(update={"storage_errors": {"nfs": 0.1}})
    assert dict(rows(stated))["storage"].endswith("again what they wrote (NFS)")
    for other, words in (
        (-0.034, "NFS (1.0 % too long) and like Ceph (3.4 % too short)"),
        (-0.2, "NFS (Ceph: 20.0 % too short)"),
    ):
        errors = {"nfs": 0.01, "ceph": other}
        both = found.model_copy(update={"storage_errors": errors})
        assert dict(rows(both))["storage"] == (
            f"shared; fits like {words}; if you know it, give --storage nfs or ceph"
        )


def test_a_replay_whose_tasks_are_far_off_decides_nothing():
    """The ends agree; half of the tasks take 60 % more or less than recorded."""
    found = answer().validation
    replayed = Replayed(
        makespan_seconds=4, error=0.0, task_error=0.6, band=(4.0, 4.0, 4.0)
    )
    assert not replayed.sure
    assert replayed.model_copy(update={"task_error": 0.49}).sure
    said = dict(rows(found.model_copy(update={"replayed": replayed})))
    assert said["plan"].endswith("50 % off or more: too far to tell which is faster")


def test_small_differences_and_bad_replays_decide_nothing():
    found = answer().validation
    said = dict(rows(found))
    for question in ("plan", "node disks"):
        assert said[question].endswith("too far off to tell which is faster")
    assert said["fitted"] == "overhead 1 s, cache unlimited (on 1 of 3 tasks)"
    better = found.model_copy(
        update={
            "replayed": Replayed(makespan_seconds=5, error=0.1, band=(4, 5, 6)),
            "plan": found.plan.model_copy(update={"certain": True}),
        }
    )
    said = dict(rows(better))
    assert said["plan"] == "4 s by link-aware, 30 % less than replayed"
    assert said["node disks"].endswith("ioopt cannot tell which is faster")
    assert max(map(len, as_text(found, 80).splitlines())) <= 80


def test_what_a_record_does_not_say_is_no_figure():
    """A constant that larger values replace without a difference, and a range of two
    equal ends.
    """
    found = answer().validation
    given = {"fitted": {"cache_bytes": 4.93e11}, "undetermined": ("cache_bytes",)}
    replayed = Replayed(makespan_seconds=5.0, error=0.01, band=(5.0, 5.001, 5.002))
    given["replayed"] = replayed
    told = found.model_copy(update=given)
    said = dict(rows(told))
    assert said["fitted"] == "cache not determined by this record (on 1 of 3 tasks)"
    assert said["replayed"] == (
        "5 s, 1.0 % too long; the same if links are shared unequally"
    )
    assert ", 1.1 times as fast (0.89 to 1.5 if off by up to 25 %" in said["node disks"]
    constants = page._constants(replace(answer(), validation=told))
    assert [row[1] for row in constants] == ["not determined by this record"]
