"""Work that overlooks its deadline is ended, and so is a command that is
interrupted in machine code.
"""

import signal
import subprocess
import sys
import threading
import time

import pytest

import ioopt
from ioopt import loading, options, solving
from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.overtime import cut_off, processor_seconds_left
from ioopt.protocols import Outcome, SolveRequest

timed = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="no timers on this system"
)
SHORT = 0.01
WHAT = "the time limit ended before a plan was complete"


def for_ever() -> None:
    while True:
        pass


@timed
def test_a_loop_that_asks_nobody_is_ended() -> None:
    with pytest.raises(OutOfTime, match=WHAT), cut_off(SHORT, WHAT):
        for_ever()


@timed
def test_who_swallows_it_gets_it_again() -> None:
    swallowed = []

    def stubborn() -> None:
        for _ in range(2):
            try:
                for_ever()
            except OutOfTime as error:
                swallowed.append(error)
        for_ever()

    with pytest.raises(OutOfTime), cut_off(SHORT, WHAT):
        stubborn()
    assert len(swallowed) == 2


@timed
def test_a_library_may_wrap_it() -> None:
    """pydantic makes an error of its own of whatever a serializer raises."""

    def written() -> None:
        try:
            for_ever()
        except OutOfTime as error:
            raise ValueError("while writing") from error

    with pytest.raises(OutOfTime, match=WHAT), cut_off(SHORT, WHAT):
        written()


def test_other_errors_pass_and_no_time_is_none() -> None:
    with pytest.raises(ValueError, match="its own"), cut_off(60.0, WHAT):
        raise ValueError("its own")
    with pytest.raises(OutOfTime), cut_off(0.0, WHAT):
        raise AssertionError("the block must not begin")


def test_other_threads_have_no_timer() -> None:
    found = []

    def work() -> None:
        with cut_off(SHORT, WHAT):
            found.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["done"]


@timed
def test_other_threads_do_not_count() -> None:
    """A solver that waits for threads of its own is not ended for their work."""
    begun = time.process_time()
    with cut_off(SHORT, WHAT):
        thread = threading.Thread(target=lambda: sum(range(3_000_000)))
        thread.start()
        thread.join()
    assert time.process_time() - begun > SHORT


@timed
@pytest.mark.timeout(0)  # whose alarm is the same signal
def test_what_sleeps_is_timed_by_the_clock_on_the_wall() -> None:
    with pytest.raises(OutOfTime, match=WHAT), cut_off(SHORT, WHAT, wall_clock=True):
        threading.Event().wait(120)


@timed
@pytest.mark.timeout(0)  # whose alarm is the same signal
def test_a_solve_within_an_own_solver_leaves_its_alarm_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(options, "now", time.monotonic)

    def asks_another(problem: object) -> object:
        plan = ioopt.solve(problem, "minmin").plan
        threading.Event().wait(120)
        return plan

    result = ioopt.solve("cycle3", asks_another, time_limit=SHORT)
    assert (result.status.value, result.stop.value) == ("unknown", "time")
    assert "did not return within its time limit" in result.notes[0]


def test_parts_of_a_run_have_its_processor_time() -> None:
    """2 s used of 1.1 x 4 + 1 - .4: 3 s are left for the run and each part of it."""
    used = time.thread_time() - 2.0
    run = Deadline(4.0, clock=time.monotonic, processor_started=used)
    for part in (
        run,
        run.within(0.5),
        run.with_overtime(),
        run.with_overtime().within(1.0),
    ):
        assert processor_seconds_left(part) == pytest.approx(3.0, abs=0.5)


@timed
def test_the_outer_of_two_blocks_counts() -> None:
    def work() -> None:
        with cut_off(60.0, "inner"):
            pass
        for_ever()

    with pytest.raises(OutOfTime, match="outer"), cut_off(SHORT, "outer"):
        work()


def test_no_limit_and_a_clock_of_a_test_are_not_counted() -> None:
    """1.1 x 1 s + 1 s, less .4 s to end, less 1 s that was used since
    the deadline was set.
    """
    assert processor_seconds_left(Deadline(None)) == float("inf")
    assert processor_seconds_left(Deadline(1.0, clock=lambda: 0.0)) == float("inf")
    begun = time.thread_time() - 1.0
    deadline = Deadline(1.0, clock=time.monotonic, processor_started=begun)
    assert processor_seconds_left(deadline) <= 1.1 + 1.0 - 0.4 - 1.0


@timed
@pytest.mark.timeout(0)  # whose alarm is the same signal
def test_the_best_plan_of_a_solver_that_does_not_end_is_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(options, "now", time.monotonic)
    plan = loading.plan_of(
        solving.registry.kind_of_problem(ioopt.load("cycle3")),
        ioopt.solve("cycle3", "minmin").plan,
    )

    def stubborn(problem: object, request: SolveRequest) -> Outcome:
        request.incumbents.report(plan, 1.0)
        threading.Event().wait(120)
        return Outcome(None)

    result = ioopt.solve("cycle3", stubborn, time_limit=SHORT)
    assert (
        result.plan == ioopt.solve("cycle3", "minmin").plan and result.violations == ()
    )
    assert (result.status.value, result.stop.value) == ("feasible", "time")
    assert "did not return within its time limit of 0.01 s" in result.notes[0]


def test_a_check_without_time_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing leaves unchecked: exit code 4."""

    def slow(*given: object) -> None:
        raise OutOfTime("the time limit ended before the plan was checked")

    monkeypatch.setattr(solving, "check_plan", slow)
    result = ioopt.solve("cycle3", "minmin")
    assert (result.status.value, result.stop.value, result.plan) == (
        "unknown",
        "time",
        None,
    )
    assert "the time limit ended before the plan was checked" in result.notes


def test_reading_without_time_is_one_line(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "processor_seconds_left", lambda deadline: 0.0)
    code, out, err = run("solve", "cycle3")
    assert (code, out) == (4, "")
    assert err == "ioopt: the time limit ended before the instance was read\n"


@pytest.mark.parametrize("limit", ["0", "-1", "nan"])
def test_a_limit_that_is_none_is_refused(run, limit: str) -> None:
    code, out, err = run("solve", "cycle3", "--time-limit", limit)
    assert code == 2 and out == "" and "time limit must be more than 0" in err


INTERRUPTED = """
import hashlib, sys
from ioopt.cli.interrupt import ending_soon
with ending_soon():
    try:
        print("ready", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # minutes, and no signal ends it
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_machine_code_does_not_hold_up_an_interrupt() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.stdout.close()
