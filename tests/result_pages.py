"""Read the page of a result."""

import json
from html.parser import HTMLParser
from typing import Any


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
