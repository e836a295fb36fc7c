"""The ZeroMQ side of the Batsim adapter: Batsim asks (REQ), the decision component answers (REP)."""

from __future__ import annotations

import json
from typing import Any

from ioopt.embed.adapters.batsim import BatsimDecider
from ioopt.errors import BackendMissingError, InstanceError, UsageError

_POLL_MILLISECONDS = 200


class BatsimServer:
    """Binds *endpoint* (as Batsim's ``--socket-endpoint``, default ``tcp://*:28000``).

    Raises BackendMissingError without pyzmq, UsageError when the endpoint cannot be bound.
    """

    def __init__(self, endpoint: str, decider: BatsimDecider) -> None:
        try:
            import zmq
        except ImportError:
            raise BackendMissingError(
                "pyzmq is not installed: python -m pip install 'ioopt[batsim]'"
            ) from None
        self._decider = decider
        self._context: Any = zmq.Context()
        self._socket: Any = self._context.socket(zmq.REP)
        self._socket.linger = 1000
        try:
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise UsageError(f"{endpoint}: cannot be bound: {error}") from None
        self.endpoint: str = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._stopped = False

    def run(self) -> int:
        """Answer until the simulation ends or :meth:`stop`; returns how many messages there were.

        Raises InstanceError for a message that is not Batsim's, after an answer without events, so
        that the peer does not wait for ever.
        """
        answered = 0
        try:
            while not self._decider.ended and not self._stopped:
                if not self._socket.poll(_POLL_MILLISECONDS):
                    continue
                self._answer(self._socket.recv())
                answered += 1
        finally:
            self.close()
        return answered

    def _answer(self, text: bytes) -> None:
        message: Any = None
        try:
            message = json.loads(text)
            reply = self._decider.reply(message)
        except (ValueError, InstanceError) as error:
            now = message.get("now", 0.0) if isinstance(message, dict) else 0.0
            self._socket.send(json.dumps({"now": now, "events": []}).encode())
            raise InstanceError(f"{self.endpoint}: {error}") from None
        self._socket.send(json.dumps(reply).encode())

    def stop(self) -> None:
        """Stop after the message at hand; may be called from a signal handler."""
        self._stopped = True

    def close(self) -> None:
        """Give the endpoint back."""
        self._socket.close()
        self._context.term()
