"""Colours: one for each role over all families, and styles for lines told apart by name
alone.

All are of the palette that Okabe and Ito made for readers who see colours differently
(Color Universal Design, 2008); lines differ in dashes and markers too, bars in
lightness.
"""

from typing import Any

BLUE, VERMILLION, SKY, ORANGE = "#0072B2", "#D55E00", "#56B4E9", "#E69F00"
GREEN, PURPLE, YELLOW, BLACK = "#009E73", "#CC79A7", "#F0E442", "#000000"

COMPUTE, REMOTE, REPLICA, IO, WAITING = BLUE, VERMILLION, SKY, ORANGE, YELLOW
"""Computing; bytes from far; bytes from a neighbour; I/O of a job; held up by others.
"""
SAVE = PURPLE
"""Bytes that leave a node for remote storage."""
IDLE, OTHERS, EVICTION = "#EBEBEB", "#A6A6A6", "#444444"
"""Nobody uses it; everything that has no colour of its own; what leaves a disk."""
BOUND = BLACK
"""Lines that nothing can pass: proven bounds, the storage's rate."""
LIMIT = {"color": BOUND, "linestyle": ":"}
EXACT, HEURISTIC = PURPLE, GREEN

ROLES: dict[str, tuple[str, str]] = {
    "compute": ("compute", COMPUTE),
    "remote": ("remote transfer", REMOTE),
    "copy": ("replica transfer", REPLICA),
    "save": ("save to remote storage", SAVE),
    "io": ("I/O", IO),
    "waiting": ("waiting", WAITING),
    "local": ("on its file nodes", COMPUTE),
    "remote start": ("away from its files", REMOTE),
    "eviction": ("eviction", EVICTION),
    "idle": ("idle", IDLE),
    "critical": ("critical path", BLACK),
}
"""Kind of an interval -> its words in a legend and its colour."""

HUES = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, YELLOW)
DASHES = ("-", "--", "-.", ":")
MARKERS = "os^vDPX"


def role(kind: str) -> tuple[str, str]:
    """The words and the colour of a kind of interval; an unknown one is named and grey.

    >>> role("copy")
    ('replica transfer', '#56B4E9')
    """
    return ROLES.get(kind, (kind, OTHERS))


def series(number: int, marker: bool = True) -> dict[str, Any]:
    """Colour, dashes and marker of line *number*: 28 lines that differ."""
    turn, place = divmod(number, len(HUES))
    style: dict[str, Any] = {
        "color": HUES[place],
        "linestyle": DASHES[turn % len(DASHES)],
    }
    if marker:
        style |= {"marker": MARKERS[(place + turn) % len(MARKERS)], "markersize": 4}
    return style


def ink(colour: str) -> str:
    """Black or white, whichever is read more easily on *colour* (relative luminance of
    WCAG 2).

    >>> ink(BLUE), ink(YELLOW)
    ('white', 'black')
    """
    red, green, blue = (_linear(int(colour[k : k + 2], 16) / 255) for k in (1, 3, 5))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    if 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05:
        return "white"
    return "black"


def _linear(channel: float) -> float:
    """A channel of sRGB as light (WCAG 2, definition of relative luminance)."""
    if channel <= 0.04045:
        return channel / 12.92
    return float(((channel + 0.055) / 1.055) ** 2.4)
