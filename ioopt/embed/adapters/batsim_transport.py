"""Connect the Batsim adapter by ZeroMQ: Batsim sends requests (REQ), and this component
replies.

A simulation has one peer, the first that sends ``SIMULATION_BEGINS``. Messages of other
peers are dropped unread. A message that violates the protocol before a simulation has
begun is answered without events. Neither of the two ends the service. The service ends
with the simulation, or when the connection of the peer ends.
"""

import json
import sys
from pathlib import Path
from typing import Any

from ioopt.embed.adapters.batsim import BatsimDecider, RefusedError
from ioopt.embed.messages import finite
from ioopt.errors import InstanceError, UsageError, missing
from ioopt.problems.base import Json

_POLL_MILLISECONDS = 200
MAX_NOTES = 1000
"""The largest number of notes that are printed for a simulation."""
MAX_MESSAGE_BYTES = 1 << 28
"""The largest number of bytes of a message; ZeroMQ disconnects the sender of a longer
message.
"""


class BatsimServer:
    """A server for Batsim at *endpoint*, which has the form of Batsim's
    ``--socket-endpoint``.

    A host of ``*`` stands for this machine only; ``tcp://0.0.0.0:28000`` listens on
    every interface. Raises BackendMissingError if pyzmq is missing, and UsageError if
    the endpoint cannot be bound.
    """

    def __init__(self, endpoint: str, decider: BatsimDecider) -> None:
        try:
            import zmq
        except ImportError:
            raise missing("zmq", "serve --batsim") from None
        self._decider = decider
        self._peer: bytes | None = None
        self._gone: dict[int, bool] = {}
        self._handle = -1
        self._told: set[str] = set()
        self._bound: Path | None = None
        self._context: Any = zmq.Context()
        self._socket: Any = self._context.socket(zmq.ROUTER)
        self._monitor: Any = self._socket.get_monitor_socket(
            zmq.EVENT_DISCONNECTED | zmq.EVENT_ACCEPTED
        )
        self._socket.linger = 1000
        self._socket.tcp_keepalive = 1  # a host that crashes sends no message
        self._socket.maxmsgsize = MAX_MESSAGE_BYTES
        self._socket.rcvhwm = 4  # a peer sends one message and waits for the answer
        try:
            self._socket.bind(endpoint.replace("tcp://*", "tcp://127.0.0.1"))
        except zmq.ZMQError as error:
            self.close()
            raise UsageError(f"{endpoint}: cannot be bound: {error}") from None
        self.endpoint: str = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        if self.endpoint.startswith("ipc:///"):
            self._bound = Path(self.endpoint.removeprefix("ipc://"))
        self._stopped = False

    def run(self) -> None:
        """Reply to Batsim until the simulation ends or :meth:`stop` is called.

        Raises InstanceError when Batsim violates its protocol after its simulation has
        begun; a reply without events is sent first, so that Batsim does not wait
        forever. Also raises InstanceError when Batsim's connection ends before its
        simulation.
        """
        from zmq import SRCFD

        try:
            while not self._decider.ended and not self._stopped:
                if not self._socket.poll(_POLL_MILLISECONDS):
                    self._watch()
                    if self._gone.get(self._handle):
                        said = "Batsim has disconnected before its simulation ended"
                        raise InstanceError(f"{self.endpoint}: {said}")
                    continue
                frames = self._socket.recv_multipart(copy=False)
                sender, *path, text = [frame.bytes for frame in frames]
                if self._peer not in (None, sender):
                    continue
                reply, broken = self._reply(sender, text)
                if self._handle < 0 and self._peer is not None:
                    self._watch()  # a handle may be reused for a new connection
                    self._handle = frames[-1].get(SRCFD)
                self._socket.send_multipart([sender, *path, json.dumps(reply).encode()])
                if broken is not None:
                    raise broken
        finally:
            self.close()

    def _watch(self) -> None:
        """Record which connections have ended. The connection of the simulation stays
        recorded as ended once it has ended.
        """
        from zmq import EVENT_DISCONNECTED
        from zmq.utils.monitor import recv_monitor_message

        while self._monitor.poll(0):
            said = recv_monitor_message(self._monitor)
            ended = said["event"] == EVENT_DISCONNECTED
            if said["value"] != self._handle or ended:
                self._gone[said["value"]] = ended

    def _reply(self, sender: bytes, text: bytes) -> tuple[Json, InstanceError | None]:
        """Return the reply to a message, and the error that must end the service after
        the reply (None: continue).
        """
        now = 0.0
        try:
            message = json.loads(text, parse_constant=finite, parse_float=finite)
            now = _time_of(message)
            reply = self._decider.reply(message)
            if self._decider.begun:
                self._peer = sender
            self._tell()
            return reply, None
        except InstanceError as error:
            fatal = self._peer is not None or isinstance(error, RefusedError)
            reason = f"{self.endpoint}: {error}"
            if not fatal:
                self._decider.forget()
        except (ValueError, RecursionError) as error:
            reason = f"{self.endpoint}: not a message in JSON: {error}"
            fatal = False
        if not fatal:
            print(f"ioopt: {reason}", file=sys.stderr)
        return {"now": now, "events": []}, InstanceError(reason) if fatal else None

    def _tell(self) -> None:
        """Print the notes of the decider that were not printed before."""
        for note in self._decider.notes:
            if len(self._told) < MAX_NOTES and note not in self._told:
                self._told.add(note)
                print(f"ioopt: {note}", file=sys.stderr)

    def stop(self, seconds: float = 0.0) -> None:
        """Stop after the current message, within one poll of the socket. A signal
        handler may call this.

        *seconds* is accepted for the sake of the other servers and has no effect.
        """
        self._stopped = True

    def close(self) -> None:
        """Close the socket, and remove its file if it has one."""
        self._monitor.close()
        self._socket.close()
        self._context.term()
        if self._bound is not None:
            self._bound.unlink(missing_ok=True)


def _time_of(message: object) -> float:
    now = message.get("now") if isinstance(message, dict) else None
    if isinstance(now, (int, float)) and abs(now) < 1e18:
        return float(now)
    return 0.0
