"""Try an installed ioopt: solve and check one instance of every family.

Run it by ``python -I smoke.py``; the option -I makes Python find the installation, not
a checkout. If FastAPI is installed, the HTTP service is called. Compiled kernels must
be there, or with the option ``--plain`` must not.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

from ioopt.cli.main import main as ioopt
from ioopt.compiled import library

ANSWERS = (
    ("cycle3", "--solver", "minmin"),
    ("cycle3", "--solver", "ip", "--backend", "CP-SAT"),
    ("cycle3", "--solver", "ip", "--backend", "HiGHS"),
    ("cycle3", "--solver", "ip-printed", "--backend", "CBC"),
    ("flow-groups", "--time-limit", "1"),
    ("two-writers", "--solver", "fill"),
    ("two-writers-now",),
    ("gang-figure-5",),
    ("gang-crowded-now",),
    ("flexgang-heavy-mix", "--solver", "greedy"),
    ("flexgang-tiny", "--time-limit", "1"),
)


def _is_served() -> bool:
    """Return whether the HTTP service answers a ping."""
    from ioopt.embed.http import HttpServer

    server = HttpServer("0", "smoke" * 4, 4096)
    thread = Thread(target=server.run)
    thread.start()
    ping = Request(
        f"{server.endpoint}/v1/messages",
        b'{"ioopt": 1, "op": "ping"}',
        {"Authorization": f"Bearer {'smoke' * 4}"},
    )
    try:
        with urlopen(ping, timeout=60) as reply:
            return bool(json.load(reply)["ok"])
    finally:
        server.stop()
        thread.join()


def main() -> int:
    """Solve and check one instance of each family; return 1 if anything fails."""
    failed = []
    os.chdir(tempfile.mkdtemp())
    why = library.why_plain()
    if ("--plain" in sys.argv) != ("no C compiler" in why):
        failed.append(f"kernels: {why or 'compiled'}")
    for words in ANSWERS:
        code = ioopt(["-q", "solve", *words, "-o", "r.json"])
        code = code or ioopt(["-q", "check", words[0], "r.json"])
        if code or json.loads(Path("r.json").read_text())["stop"] == "fallback":
            failed.append(" ".join(words))
    if ioopt(["-q", "compare", "cycle3", "--time-limit", "2"]):
        failed.append("compare cycle3")
    if find_spec("fastapi") and not _is_served():
        failed.append("serve --http")
    print(f"smoke: {'ok' if not failed else 'FAILED: ' + '; '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
