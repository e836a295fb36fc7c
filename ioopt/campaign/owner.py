"""Who writes to a store: one sweep at a time."""

import os
import platform
import time
from weakref import WeakSet

from ioopt.errors import BackendMissingError, UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Owner:
    """The lock of the one sweep that writes to a store: a file beside it that says who that is.

    The system lets go of it when the process ends, however that happens. Not the store itself: to
    close it after looking would end the locks that SQLite holds on it. Forked processes do not
    have it, for one that outlives the sweep would keep the store.
    """

    def __init__(self, path: str) -> None:
        if fcntl is None:
            raise BackendMissingError(
                "sweep: this system has no file locks (fcntl), so two sweeps could write to one "
                "store; run it on Linux, macOS or WSL"
            )
        self.path = f"{os.path.realpath(path)}-sweep"
        while True:
            try:
                self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError as error:
                raise UsageError(f"{path}: cannot be opened: {error.strerror}") from None
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                who = os.read(self._handle, 1000).decode(errors="replace") or "another process"
                os.close(self._handle)
                raise UsageError(
                    f"{path}: {who} is writing to it; wait for its end or take another store"
                ) from None
            except OSError as error:
                os.close(self._handle)
                raise UsageError(f"{path}: cannot be locked: {error.strerror}") from None
            if self._still_there():
                break
            os.close(self._handle)  # the sweep before us has just removed it
        moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        who = f"a sweep (process {os.getpid()} on {platform.node()}, since {moment})"
        os.ftruncate(self._handle, 0)
        os.write(self._handle, who.encode())
        _OWNERS.add(self)

    def forget(self) -> None:
        """In a forked process: close the lock, which stays its parent's."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _still_there(self) -> bool:
        """Whether the lock file at the path is still the one that is open here."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._handle))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let the next sweep have the store."""
        if self._handle >= 0:
            os.unlink(self.path)  # before the lock goes: whoever waits sees that it is not there
            os.close(self._handle)
            self._handle = -1


_OWNERS: WeakSet[Owner] = WeakSet()


def _forget_all() -> None:
    for owner in _OWNERS:
        owner.forget()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget_all)
