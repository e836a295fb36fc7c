"""Read the page of a result, and open pages in a browser."""

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest


class Elements(HTMLParser):
    """The elements of a page with their attributes, the texts of its scripts, and all
    other text.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag = self.elements[-1][0] if self.elements else ""
        (self.scripts if tag == "script" else self.texts).append(data)


def data_of(text: str) -> Any:
    return json.loads(Elements(text).scripts[0])


def opened(page: Path, profile: Path) -> str:
    """Open *page* in a browser without a network, and return its elements afterwards.

    The test is skipped without a browser, and fails if the page logs an error.
    """
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no chromium here (Debian: chromium)")
    run = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
            "--window-size=1200,900",
            f"--user-data-dir={profile}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0
    assert "CONSOLE" not in run.stderr, run.stderr[-2000:]
    return run.stdout
