"""``ioopt serve``: answer requests for decisions from schedulers that are not written
in Python.
"""

from __future__ import annotations

import signal
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from ioopt.cli.lazy import IooptCommand
from ioopt.embed.service import MAX_LINE_BYTES
from ioopt.errors import UsageError, missing

if TYPE_CHECKING:
    from ioopt.embed.adapters.batsim_transport import BatsimServer
    from ioopt.embed.http import HttpServer

EPILOG = """\b
Examples:
  echo '{"ioopt": 1, "id": 1, "op": "ping"}' | ioopt serve --stdio
  ioopt serve --socket /run/scheduler/ioopt.sock
  ioopt serve --http 127.0.0.1:8080 --token-file token
  ioopt serve --batsim tcp://*:28000 --machine node_rate=1GB/s,storage_rate=4GB/s
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.option(
    "--stdio", is_flag=True, help="Read standard input, answer on standard output."
)
@click.option(
    "--socket",
    "path",
    metavar="PATH",
    help="Listen on a Unix socket that only its owner can use.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1024),
    default=MAX_LINE_BYTES,
    help="Longest line that is accepted.",
)
@click.option(
    "--http",
    "address",
    metavar="[HOST:]PORT",
    help="Serve HTTP, without HOST only to this machine. Needs --token-file.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    help="With --http: the token that callers need; made if it is missing.",
)
@click.option(
    "--allow-own",
    is_flag=True,
    help="With --http: callers may name functions of their own (module:function) as "
    "solvers, and can thus run any code on this machine.",
)
@click.option(
    "--messages",
    is_flag=True,
    help="Print the calls of each object, with their arguments and values, and end.",
)
@click.option(
    "--batsim",
    "endpoint",
    metavar="ENDPOINT",
    help="Decide for Batsim (protocol 4), which connects to this ZeroMQ endpoint; "
    "tcp://*:PORT is this machine alone, tcp://0.0.0.0:PORT every interface.",
)
@click.option(
    "--solver",
    "policy",
    default="fill",
    help="With --batsim: the I/O policy that admits transfers.",
)
@click.option(
    "--machine",
    "words",
    metavar="FILE|KEY=VALUE[,...]",
    multiple=True,
    help="With --batsim: node_rate and storage_rate (without them jobs run whole), "
    "unit_nodes, allocation, and the queue: queue, backfill, reservation, plan ...",
)
@click.option(
    "--storage-mapping",
    "storages",
    metavar="LABEL=ID",
    multiple=True,
    help="With --batsim: the storage resource that profiles mean by a label.",
)
def serve(
    stdio: bool,
    path: str | None,
    max_bytes: int,
    endpoint: str | None,
    address: str | None,
    token_file: str | None,
    allow_own: bool,
    messages: bool,
    **batsim: Any,
) -> None:
    """Answer each line of JSON with a line of JSON until the input ends or SIGTERM
    arrives.

    The page on embedding describes the messages and the limits. After SIGTERM, requests
    that have arrived are still answered, for at most 3 seconds; Ctrl-C ends the service
    within one second. Text that a solver prints goes to standard error.
    """
    if messages:
        from ioopt.embed.schema import as_text

        click.echo(as_text())
        return
    from ioopt.embed.transport import (
        DRAIN_SECONDS,
        INTERRUPT_SECONDS,
        SocketServer,
        StdioServer,
    )

    if [stdio, path is not None, endpoint is not None, address is not None].count(
        True
    ) != 1:
        raise UsageError(
            "give one of --stdio, --socket PATH, --http ADDRESS and --batsim ENDPOINT"
        )
    if allow_own and address is None:
        raise UsageError(
            "--allow-own is only for --http; without --http own solvers are allowed"
        )
    server: SocketServer | StdioServer | BatsimServer | HttpServer
    if address is not None:
        server = _http(address, token_file, max_bytes, allow_own)
    elif endpoint is not None:
        server = _batsim(endpoint, **batsim)
    else:
        server = (
            StdioServer(max_bytes) if path is None else SocketServer(path, max_bytes)
        )

    signal.signal(signal.SIGTERM, lambda *_: server.stop(DRAIN_SECONDS))
    signal.signal(signal.SIGINT, lambda *_: server.stop(INTERRUPT_SECONDS))
    if server.endpoint:  # printed last: readers may then send signals
        print(f"listening on {server.endpoint}", file=sys.stderr, flush=True)
    server.run()


def _http(
    address: str, token_file: str | None, max_bytes: int, allow_own: bool
) -> HttpServer:
    if token_file is None:
        raise UsageError(
            "--http needs --token-file FILE, which is made if it is missing"
        )
    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise missing(package, "serve --http")
    from ioopt.embed.http import HttpServer, read_token

    token = read_token(token_file)
    return HttpServer(address, token, max_bytes, allow_own=allow_own)


def _batsim(
    endpoint: str,
    words: tuple[str, ...],
    storages: tuple[str, ...],
    policy: str,
) -> BatsimServer:
    from ioopt.cli.imports.common import batch_machine
    from ioopt.embed.adapters.batsim import BatsimDecider
    from ioopt.embed.adapters.batsim_transport import BatsimServer

    told = batch_machine(words)
    machine, queue = told["machine"], told["options"]
    rates = machine.node_bytes_per_second, machine.storage_bytes_per_second
    if (rates[0] is None) != (rates[1] is None):
        raise UsageError("--machine: node_rate and storage_rate go together")
    mapping = {}
    for given in storages:
        label, _, number = given.rpartition("=")
        if not label or not number.isdecimal():
            raise UsageError(
                f"--storage-mapping {given}: wanted LABEL=ID, such as pfs=4"
            )
        mapping[label] = int(number)
    decider = BatsimDecider(
        policy=policy,
        storage_mapping=mapping,
        node_bytes_per_second=rates[0],
        storage_bytes_per_second=rates[1],
        unit_nodes=machine.unit_nodes,
        allocation=machine.allocation,
        **queue,
    )
    return BatsimServer(endpoint, decider)
