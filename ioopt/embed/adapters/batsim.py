"""Decide for Batsim over its JSON protocol (version 4).

:class:`BatsimDecider` turns each message of Batsim into the reply. It reads neither
clock nor file and opens no socket (see :mod:`ioopt.embed.adapters.batsim_transport`).
Jobs are ordered and placed by :class:`ioopt.embed.batch.BatchCluster`, as in the
simulators. If rates are given and Batsim allows dynamic jobs
(``--enable-dynamic-jobs``), a job with transfers in its profile runs as a chain of
dynamic jobs on the nodes of the job, and :class:`ioopt.embed.IoArbiter` decides when
each transfer begins. Batsim itself shares the storage among the transfers that have
begun; none of them can be slowed or stopped.

The protocol is described in Batsim's documentation (protocol, version 4). Batsim 4.0 to
4.2 crashes when a job is declared completed, when a composed profile is registered, and
when a second dynamic job uses the same profile. For this reason the job itself is
rejected when it starts, and each of its simple profiles runs as a dynamic job on its
own copy of the profile.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ioopt.decisions.ordering import time_tolerance
from ioopt.embed.adapters.batsim_steps import Step, Transfers, steps_of
from ioopt.embed.batch import BatchCluster
from ioopt.embed.guard import Notes
from ioopt.errors import InstanceError, UsageError
from ioopt.formats.batsim.profiles import intervals, numbers
from ioopt.problems.base import Json
from ioopt.registry.policies import io_policy

_DONE = "COMPLETED_SUCCESSFULLY"
_ROUNDED = 1e-6
"""The precision of Batsim's times in seconds; Batsim rounds them to six decimals."""


class RefusedError(InstanceError):
    """The error for a simulation of Batsim whose settings are not supported."""


@dataclass
class _Job:
    """A job that has not ended. ``steps`` is empty if Batsim runs the whole job in one
    piece.
    """

    id: str
    nodes: int
    walltime: float
    profile: str
    steps: tuple[Step, ...] = ()
    alloc: str = ""
    places: list[int] = field(default_factory=list)
    start: float = 0.0
    step: int = -1
    step_start: float = 0.0
    computed: float = 0.0
    moved: float = 0.0

    @property
    def part(self) -> str:
        """Return the id of the dynamic job that runs the current step."""
        return f"{self.id}~{self.step}"


class BatsimDecider:
    """Reply to Batsim's messages, one after the other, by :meth:`reply`.

    *unit_nodes*, *allocation* and *options* are those of :class:`BatchCluster`. If
    *node_bytes_per_second* and *storage_bytes_per_second* are given, *policy*, an I/O
    policy of ``ioopt/batch-io``, decides when transfers begin. *storage_mapping* gives
    the number of Batsim's storage resource for each label in profiles, in case Batsim
    cannot guess it. Decisions take no simulated time. ``notes`` say what could not be
    done. ``ended`` is set when Batsim has reported the end of the simulation.
    """

    def __init__(
        self,
        *,
        policy: str = "fill",
        node_bytes_per_second: float | None = None,
        storage_bytes_per_second: float | None = None,
        unit_nodes: int = 1,
        allocation: str = "flat",
        storage_mapping: Mapping[str, int] | None = None,
        **options: str | int,
    ) -> None:
        self._batch: Json = {
            "unit_nodes": unit_nodes,
            "allocation": allocation,
            **options,
        }
        # Errors in the arguments are raised now, not while a simulation waits.
        BatchCluster(unit_nodes, **self._batch)
        io_policy(policy)
        self._policy = policy
        self._rates = (node_bytes_per_second, storage_bytes_per_second)
        self._storage_mapping = dict(storage_mapping or {})
        self.forget()
        self._react: dict[str, Callable[[Json], None]] = {
            "SIMULATION_BEGINS": self._begin,
            "SIMULATION_ENDS": self._end,
            "JOB_SUBMITTED": self._submitted,
            "JOB_COMPLETED": self._completed,
            "NOTIFY": self._notified,
        }

    def forget(self) -> None:
        """Reset everything that belongs to one simulation."""
        self._cluster: BatchCluster | None = None
        self._transfers: Transfers | None = None
        self._resources: list[int] = []
        self._down: set[int] = set()
        self._held: dict[str, _Job] = {}
        self._profiles: dict[str, Json] = {}
        self._jobs: dict[str, _Job] = {}
        self._parts: dict[str, str] = {}
        self._dynamic = self._acknowledged = self._static_over = self._finished = False
        self._down_for_good = False
        self._now = 0.0
        self._wake = -math.inf
        self._events: list[Json] = []
        self.ended = False
        self.notes = Notes()

    def reply(self, message: Json) -> Json:
        """Return the reply to *message*; all events in the message count as
        simultaneous.

        Raises InstanceError for a message that violates the protocol: a simulation that
        continued without its scheduler would give wrong results.
        """
        try:
            self._now = float(message["now"])
            self._events = []
            for event in message["events"]:
                react = self._react.get(event["type"])
                if react is not None:
                    react(event.get("data") or {})
        except UsageError as error:
            raise InstanceError(
                f"not a message of Batsim's protocol ({error})"
            ) from None
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
        ) as error:
            text = f"{type(error).__name__}: {error}"
            raise InstanceError(
                f"not a message of Batsim's protocol ({text})"
            ) from None
        except RecursionError:
            raise InstanceError(
                "not a message of Batsim's protocol (nested too deeply)"
            ) from None
        if self._cluster is not None and not self.ended:
            self._decide(self._cluster)
        return {"now": self._now, "events": self._events}

    @property
    def begun(self) -> bool:
        """Return whether Batsim has announced a simulation and described its
        machine.
        """
        return self._cluster is not None

    def _begin(self, data: Json) -> None:
        """Start a simulation: store its machine and its profiles, and whether transfers
        can be admitted one at a time.
        """
        now = self._now
        self.forget()
        self._now = now
        config = data.get("config", {})
        if config.get("redis-enabled"):
            raise RefusedError(
                "Batsim keeps its jobs in Redis; start it without --enable-redis"
            )
        storages = {
            int(item["id"]): item["name"]
            for item in data.get("storage_resources") or ()
        }
        self._require_storages(storages)
        self._resources = sorted(int(item["id"]) for item in data["compute_resources"])
        self._cluster = BatchCluster(len(self._resources), **self._batch)
        self._dynamic = bool(config.get("dynamic-jobs-enabled"))
        self._acknowledged = bool(config.get("dynamic-jobs-acknowledged"))
        for workload, profiles in data.get("profiles", {}).items():
            self._profiles[workload] = dict(profiles)
        node, storage = self._rates
        if node is None or storage is None:
            return
        if not self._dynamic:
            self._note(
                "Batsim allows no dynamic jobs (--enable-dynamic-jobs): each job runs "
                "in one piece"
            )
            return
        block = self._cluster.machine.model_dump() | {
            "node_bytes_per_second": node,
            "storage_bytes_per_second": storage,
        }
        self._transfers = Transfers(block, self._policy)

    def _require_storages(self, storages: Mapping[int, str]) -> None:
        """Raise RefusedError if the storage mapping contains a resource number that
        does not exist; Batsim would abort at it.
        """
        for label, number in self._storage_mapping.items():
            if number not in storages:
                known = ", ".join(f"{name} is {k}" for k, name in storages.items())
                said = f"of the storages {known or 'there are none'}"
                raise RefusedError(f"storage mapping {label}={number}: {said}")

    def _end(self, data: Json) -> None:
        self.ended = True
        self._events = []

    def _submitted(self, data: Json) -> None:
        """Add a new job to the queue. If the submitted job is a dynamic job of ours,
        which Batsim acknowledges in this way, execute it.
        """
        name = data["job_id"]
        if name in self._parts:
            self._execute(name, self._jobs[self._parts[name]].alloc)
            return
        given = data["job"]
        walltime = float(given.get("walltime", -1))
        if walltime <= 0:
            walltime = math.inf
        job = _Job(name, int(given["res"]), walltime, str(given.get("profile")))
        cluster = self._begun()
        if not 1 <= job.nodes <= len(self._resources):
            self._say("REJECT_JOB", job_id=name)
            self._note(
                f"job {name}: {job.nodes} resources, but there are "
                f"{len(self._resources)}"
            )
            return
        workload = self._profiles.setdefault(name.partition("!")[0], {})
        if "profile" in data:
            workload.setdefault(job.profile, data["profile"])
        if self._transfers is not None:
            try:
                job.steps = steps_of(workload, job.profile, job.nodes)
            except InstanceError as error:
                self._note(f"job {name} runs in one piece: {error}")
        cluster.arrive(name, job.nodes, job.walltime, self._now)
        self._jobs[name] = job

    def _begun(self) -> BatchCluster:
        if self._cluster is None:
            raise InstanceError("Batsim sent events before SIMULATION_BEGINS")
        return self._cluster

    def _completed(self, data: Json) -> None:
        """When a dynamic job has ended, begin the next step of its job; after the last
        step, remove the job.
        """
        self._begun()
        name = data["job_id"]
        state = data.get("job_state", _DONE)
        job = self._jobs.get(self._parts.pop(name, name))
        if job is None:
            self._note(f"job {name} completed, but is not known")
            return
        if job.steps:
            self._account(job)
            if state == _DONE and job.step + 1 < len(job.steps):
                self._next_step(job)
                return
        self._leave(job)

    def _account(self, job: _Job) -> None:
        """Add the bytes or seconds of the step that has ended to the sums of the
        job.
        """
        step = job.steps[job.step]
        if step.io_bytes and self._transfers is not None:
            self._transfers.finish(job.id)
            job.moved += step.io_bytes
        else:
            job.computed += self._now - job.step_start

    def _is_down(self, job: _Job) -> bool:
        """Return whether a machine of a started job is out of service.

        Batsim refuses to run a step of the job in that case.
        """
        return not self._down.isdisjoint(job.places)

    def _leave(self, job: _Job) -> None:
        if self._transfers is not None and job.id in self._transfers.waiting():
            self._transfers.finish(job.id)
        self._held.pop(job.id, None)
        del self._jobs[job.id]
        self._begun().leave(job.id)

    def _is_late(self, job: _Job) -> bool:
        left = job.start + job.walltime - self._now
        return left <= max(time_tolerance(self._now), _ROUNDED)

    def _notified(self, data: Json) -> None:
        """Record that no more jobs will be submitted, or which machines leave or return
        to service.
        """
        kind = data.get("type")
        if kind == "no_more_static_job_to_submit":
            self._static_over = True
        elif kind in ("event_machine_unavailable", "event_machine_available"):
            named = numbers(data["resources"])
            places = {
                place for place, name in enumerate(self._resources) if name in named
            }
            if "un" in kind:
                self._down = self._down | places
            else:
                self._down = self._down - places
            self._begun().take_down(self._down)
        elif kind == "no_more_external_event_to_occur":
            self._down_for_good = True

    def _decide(self, cluster: BatchCluster) -> None:
        """End the jobs past their walltime, start jobs of the queue, and admit
        transfers.
        """
        if self._transfers is not None:
            self._end_late_transfers(self._transfers)
        self._go_on_with_held()
        if self._down_for_good:
            self._reject_too_wide(cluster)
        self._start_jobs(cluster)
        if self._transfers is not None:
            self._admit_transfers(self._transfers)
        over = self._dynamic and self._static_over and not self._jobs
        if over and not self._finished:
            self._finished = True
            self._say("NOTIFY", type="registration_finished")

    def _end_late_transfers(self, transfers: Transfers) -> None:
        """End the jobs whose walltime has passed while their transfer was waiting."""
        for name in transfers.waiting():
            if self._is_late(self._jobs[name]):
                self._leave(self._jobs[name])

    def _go_on_with_held(self) -> None:
        """Continue the held jobs whose machines are back in service; end those that can
        no longer continue.
        """
        for job in list(self._held.values()):
            if not self._is_down(job):
                del self._held[job.id]
                self._next_step(job)
            elif self._down_for_good or self._is_late(job):
                step = job.step + 1
                self._note(
                    f"job {job.id} ends before its step {step}: one of its machines is "
                    "down"
                )
                self._leave(job)

    def _reject_too_wide(self, cluster: BatchCluster) -> None:
        """Reject waiting jobs that need more machines than will ever be available."""
        for job in list(self._jobs.values()):
            if not job.alloc and not cluster.can_hold(job.nodes):
                self._say("REJECT_JOB", job_id=job.id)
                self._note(
                    f"job {job.id} is rejected: {job.nodes} resources will not be "
                    "available again"
                )
                self._leave(job)

    def _start_jobs(self, cluster: BatchCluster) -> None:
        """Start the jobs that the queue selects at this time."""
        for name, places in cluster.run(self._now):
            job = self._jobs[name]
            job.places = places
            job.alloc = intervals([self._resources[place] for place in places])
            job.start = self._now
            if job.steps:
                self._say("REJECT_JOB", job_id=name)
                self._next_step(job)
            else:
                self._execute(name, job.alloc)

    def _admit_transfers(self, transfers: Transfers) -> None:
        """Begin the transfers that the I/O policy admits now."""
        barred = {name for name, job in self._jobs.items() if self._is_down(job)}
        for name in transfers.admit(self._now, barred):
            self._launch(self._jobs[name])
        for why in transfers.notes:
            self._note(f"{self._now:g} s: {why}")
        self._ask_wake_up(transfers)

    def _ask_wake_up(self, transfers: Transfers) -> None:
        """Ask Batsim for a call at the first time when the walltime of a job ends whose
        transfer waits.

        A wake-up cannot be cancelled, and it delays the end of Batsim's simulation. For
        this reason none is requested for a time after the end of the running transfers.
        If that end is only a lower bound, the wake-up is for the bound, and the times
        are then computed again.
        """
        jobs = [self._jobs[name] for name in transfers.waiting()]
        due = min((job.start + job.walltime for job in jobs), default=math.inf)
        until, count = transfers.under_way()
        if due == math.inf or self._now < self._wake <= min(due, until):
            return
        if due <= until:
            wake = due
        elif count > 1:
            wake = until
        else:
            wake = -math.inf
        if wake > self._now + max(_ROUNDED, 0.01 * (due - self._now)):
            self._wake = wake
            self._say("CALL_ME_LATER", timestamp=wake)

    def _next_step(self, job: _Job) -> None:
        """Begin the next step of a job: compute, or request a transfer.

        If the walltime of the job has passed, the job ends. If one of its machines is
        down, the job is held.
        """
        if self._is_late(job):
            self._leave(job)
            return
        if self._is_down(job):
            self._held[job.id] = job
            return
        job.step += 1
        job.step_start = self._now
        step = job.steps[job.step]
        if not step.io_bytes or self._transfers is None:
            self._launch(job)
            return
        self._transfers.request(
            job.id,
            job.nodes,
            step.io_bytes,
            self._now,
            start=job.start,
            computed=job.computed,
            moved=job.moved,
        )

    def _launch(self, job: _Job) -> None:
        """Register the dynamic job for the current step of *job*, and execute it.

        If Batsim acknowledges dynamic jobs, it is executed only after the
        acknowledgement.
        """
        workload = job.id.partition("!")[0]
        profile = f"ioopt:{job.part}"
        body = self._profiles[workload][job.steps[job.step].profile]
        self._say(
            "REGISTER_PROFILE",
            workload_name=workload,
            profile_name=profile,
            profile=body,
        )
        walltime = job.start + job.walltime - self._now
        if walltime == math.inf:
            walltime = -1
        described = {
            "id": job.part,
            "profile": profile,
            "res": job.nodes,
            "walltime": walltime,
            "subtime": self._now,
        }
        self._parts[job.part] = job.id
        self._say("REGISTER_JOB", job_id=job.part, job=described)
        if not self._acknowledged:
            self._execute(job.part, job.alloc)

    def _execute(self, name: str, alloc: str) -> None:
        data: Json = {"job_id": name, "alloc": alloc}
        if self._storage_mapping:
            data["storage_mapping"] = self._storage_mapping
        self._say("EXECUTE_JOB", **data)

    def _say(self, kind: str, **data: Any) -> None:
        self._events.append({"timestamp": self._now, "type": kind, "data": data})

    def _note(self, text: str) -> None:
        self.notes.add(text)
