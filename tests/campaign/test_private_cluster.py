"""Nobody but the user of a sweep can reach its processes: loopback only, and a key a run."""

from __future__ import annotations

import glob
import os
import socket
import ssl

import pytest

from ioopt.campaign import runner
from ioopt.errors import BackendMissingError

pytest.importorskip("distributed")
TLS_ALERT = 21


def without_cryptography(monkeypatch) -> None:
    from distributed.security import Security

    def missing(**_: object) -> None:
        raise ImportError("no cryptography")

    monkeypatch.setattr(Security, "temporary", missing)


def handshake(client_security, server_security) -> None:
    """A TLS handshake in memory; raises ssl.SSLError when one side refuses the other."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_security.get_connection_args("client")["ssl_context"].wrap_bio(
        to_client, to_server
    )
    server = server_security.get_listen_args("scheduler")["ssl_context"].wrap_bio(
        to_server, to_client, server_side=True
    )
    for side in (client, server, client, server, client):
        try:
            side.do_handshake()
            if side is client:
                side.read(1)  # with TLS 1.3 a refusal arrives after the client's own handshake
        except ssl.SSLWantReadError:
            continue


@pytest.mark.parametrize("maker", ["cryptography", "openssl"])
def test_a_run_admits_its_own_key_alone(maker, monkeypatch):
    if maker == "openssl":
        without_cryptography(monkeypatch)
    else:
        pytest.importorskip("cryptography")
    mine, other = runner.private_security(), runner.private_security()
    handshake(mine, mine)
    with pytest.raises(ssl.SSLError):
        handshake(other, mine)
    with pytest.raises(ssl.SSLError):
        handshake(mine, other)


def test_without_any_maker_of_keys_nothing_is_opened(monkeypatch):
    without_cryptography(monkeypatch)
    monkeypatch.setenv("PATH", "")
    with (
        pytest.raises(BackendMissingError, match="pip install cryptography"),
        runner.cluster_client(1, None, None),
    ):
        pytest.fail("a cluster was opened")


def listening(pids: set[int]) -> list[tuple[str, int]]:
    """Hexadecimal address and port of every TCP socket on which these processes listen."""
    inodes = set()
    for pid in pids:
        for link in glob.glob(f"/proc/{pid}/fd/*"):
            try:
                inodes.add(os.readlink(link).removeprefix("socket:[").rstrip("]"))
            except OSError:
                continue  # closed meanwhile
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            for words in (line.split() for line in list(lines)[1:]):
                if words[3] == "0A" and words[9] in inodes:
                    address, port = words[1].split(":")
                    found.append((address, int(port, 16)))
    return found


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="reads the tables of Linux")
def test_a_local_cluster_listens_on_loopback_and_wants_the_key():
    with runner.cluster_client(1, None, None) as client:
        (worker,) = client.run(os.getpid).values()
        sockets = listening({os.getpid(), worker})
        # scheduler, worker, nanny, and the HTTP servers (which have no pages) of the first two
        assert len(sockets) >= 4
        assert {address for address, _ in sockets} == {"0100007F"}
        port = int(client.scheduler.address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(bytes(64))
            assert ended(plain)
        stranger = ssl.create_default_context()
        stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(("127.0.0.1", port)) as raw,
            stranger.wrap_socket(raw) as keyless,
            pytest.raises(ssl.SSLError, match=r"(?i)certificate required"),
        ):
            keyless.recv(1)


def ended(connection: socket.socket) -> bool:
    """Whether the other side said nothing but that it refuses, and closed."""
    try:
        return all(piece[0] == TLS_ALERT for piece in iter(lambda: connection.recv(99), b""))
    except ConnectionResetError:
        return True
