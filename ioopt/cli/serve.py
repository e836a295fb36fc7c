"""``ioopt serve``: decisions for schedulers that are not written in Python."""

from __future__ import annotations

import contextlib
import signal
import sys

import click

from ioopt.cli.lazy import IooptCommand
from ioopt.embed.service import MAX_LINE_BYTES
from ioopt.errors import ExitCode, UsageError

EPILOG = """\b
Examples:
  echo '{"ioopt": 1, "id": 1, "op": "ping"}' | ioopt serve --stdio
  ioopt serve --socket /run/scheduler/ioopt.sock
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.option("--stdio", is_flag=True, help="Read standard input, answer on standard output.")
@click.option("--socket", "path", metavar="PATH", help="Listen on a Unix socket, owner only.")
@click.option("--max-bytes", type=click.IntRange(min=1024), default=MAX_LINE_BYTES,
              show_default=True, help="Longest line that is accepted.")  # fmt: skip
def serve(stdio: bool, path: str | None, max_bytes: int) -> int:
    """Answer a line of JSON with a line of JSON until the input ends or SIGTERM arrives.

    See the page on embedding for the messages. On SIGTERM what has arrived is still answered.
    """
    from ioopt.embed.service import Service
    from ioopt.embed.transport import SocketServer, StreamServer

    if stdio == (path is not None):
        raise UsageError("give either --stdio or --socket PATH")
    server: SocketServer | StreamServer
    if path is not None:
        server = SocketServer(path, max_bytes)
        print(f"listening on {path}", file=sys.stderr, flush=True)
    else:
        server = StreamServer(sys.stdin.buffer, sys.stdout.buffer, Service(max_bytes))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    with contextlib.suppress(SystemExit):
        server.run()
    return ExitCode.ANSWER
