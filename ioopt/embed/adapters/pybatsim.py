"""The decision component as a scheduler of pybatsim 3.2: ``pybatsim .../pybatsim.py -o '{...}'``.

pybatsim loads a scheduler from a file and wants a class named like the file. The options are the
keyword arguments of :class:`ioopt.embed.adapters.batsim.BatsimDecider`.
"""

from __future__ import annotations

from typing import Any

from batsim.batsim import BatsimScheduler

from ioopt.embed.adapters.batsim import BatsimDecider


class Pybatsim(BatsimScheduler):
    """Hands pybatsim's callbacks to a :class:`BatsimDecider`, and its events back."""

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        super().__init__(options or {})
        self.decider = BatsimDecider(**self.options)
        self._heard: list[dict[str, Any]] = []

    def _note_event(self, kind: str, **data: Any) -> None:
        """Note an event of the present message; :meth:`onNoMoreEvents` hands all of them over."""
        self._heard.append({"timestamp": self.bs.time(), "type": kind, "data": data})

    def onSimulationBegins(self) -> None:
        """The machine, the profiles and Batsim's settings."""
        self._note_event(
            "SIMULATION_BEGINS", compute_resources=list(self.bs.compute_resources.values()),
            config=self.bs.batconf, profiles=self.bs.profiles,
        )  # fmt: skip

    def onSimulationEnds(self) -> None:
        """Batsim has nothing more to do."""
        self._note_event("SIMULATION_ENDS")

    def onJobSubmission(self, job: Any) -> None:
        """A job, or the acknowledgement of a dynamic one."""
        self._note_event(
            "JOB_SUBMITTED", job_id=job.id, job=job.json_dict, profile=job.profile_dict
        )

    def onJobCompletion(self, job: Any) -> None:
        """A job has ended, however it did."""
        self._note_event("JOB_COMPLETED", job_id=job.id, job_state=job.job_state.name)

    def onJobsKilled(self, jobs: list[Any]) -> None:
        """Each of them is reported as completed too; this only leaves a trace in the log."""
        self.logger.info("killed: %s", ", ".join(job.id for job in jobs))

    def onRequestedCall(self) -> None:
        """The time we asked to be called at."""
        self._note_event("REQUESTED_CALL")

    def onNoMoreJobsInWorkloads(self) -> None:
        """All jobs of the workload are known."""
        self._note_event("NOTIFY", type="no_more_static_job_to_submit")

    def onNoMoreEvents(self) -> None:
        """All events of a message are known: decide, and pass it on by pybatsim's own calls."""
        heard, self._heard = self._heard, []
        reply = self.decider.reply({"now": self.bs.time(), "events": heard})
        for event in reply["events"]:
            self._pass_on(event["type"], event["data"])

    def _pass_on(self, kind: str, data: dict[str, Any]) -> None:
        from procset import ProcSet

        jobs = self.bs.jobs
        if kind == "EXECUTE_JOB":
            job = jobs[data["job_id"]]
            job.allocation = ProcSet.from_str(data["alloc"])
            if "storage_mapping" in data:
                job.storage_mapping = data["storage_mapping"]
            self.bs.execute_job(job)
        elif kind == "REJECT_JOB":
            self.bs.reject_jobs_by_id([data["job_id"]])
        elif kind == "REGISTER_PROFILE":
            self.bs.register_profiles(
                data["workload_name"], {data["profile_name"]: data["profile"]}
            )
        elif kind == "REGISTER_JOB":
            new = data["job"]
            self.bs.register_job(
                new["id"], new["res"], new["walltime"], new["profile"], new["subtime"]
            )
        elif kind == "CHANGE_JOB_STATE":
            state = type(jobs[data["job_id"]].job_state)[data["job_state"]]
            self.bs.change_job_state(jobs[data["job_id"]], state)
        elif kind == "CALL_ME_LATER":
            self.bs.wake_me_up_at(data["timestamp"])
        elif kind == "NOTIFY":
            self.bs.notify_registration_finished()
