"""Define a colour for each role, the same in all families of problems, and styles for
other lines.

All colours are from the palette of Okabe and Ito for colour-blind readers (Color
Universal Design, 2008). In addition, lines differ in dashes and markers, and bars
differ in lightness.
"""

from typing import Any

BLUE = "#0072B2"
VERMILLION = "#D55E00"
SKY = "#56B4E9"
ORANGE = "#E69F00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
YELLOW = "#F0E442"
BLACK = "#000000"

COMPUTE = BLUE
REMOTE = VERMILLION
"""The colour of transfers from the remote storage."""
REPLICA = SKY
"""The colour of transfers from another node."""
IO = ORANGE
WAITING = YELLOW
SAVE = PURPLE
"""The colour of transfers to the remote storage."""
IDLE = "#EBEBEB"
OTHERS = "#A6A6A6"
"""The colour of everything that has no colour of its own."""
EVICTION = "#444444"
BOUND = BLACK
"""The colour of limits, such as proven bounds and the storage rate."""
LIMIT = {"color": BOUND, "linestyle": ":"}
EXACT = PURPLE
HEURISTIC = GREEN

ROLES: dict[str, tuple[str, str]] = {
    "compute": ("computing", COMPUTE),
    "task": ("task: reads, computes, writes", COMPUTE),
    "remote": ("file from remote storage", REMOTE),
    "copy": ("file from another node", REPLICA),
    "save": ("file to remote storage", SAVE),
    "io": ("I/O", IO),
    "waiting": ("waiting", WAITING),
    "local": ("on its file nodes", COMPUTE),
    "remote start": ("away from its files", REMOTE),
    "eviction": ("file deleted (eviction)", EVICTION),
    "idle": ("idle", IDLE),
    "critical": ("critical path", BLACK),
}
"""For each kind of interval, its words in the legend and its colour."""

HUES = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, YELLOW)
DASHES = ("-", "--", "-.", ":")
MARKERS = "os^vDPX"


def role(kind: str) -> tuple[str, str]:
    """Return the words in the legend and the colour of a kind of interval; an unknown
    kind is grey.

    >>> role("copy")
    ('file from another node', '#56B4E9')
    """
    return ROLES.get(kind, (kind, OTHERS))


def series(number: int, marker: bool = True) -> dict[str, Any]:
    """Return the colour, the dashes and the marker of line *number*. The first 28 lines
    all differ.
    """
    turn, place = divmod(number, len(HUES))
    style: dict[str, Any] = {
        "color": HUES[place],
        "linestyle": DASHES[turn % len(DASHES)],
    }
    if marker:
        style |= {"marker": MARKERS[(place + turn) % len(MARKERS)], "markersize": 4}
    return style


def ink(colour: str) -> str:
    """Return black or white, whichever has more contrast on the background *colour*
    (WCAG 2).

    >>> ink(BLUE), ink(YELLOW)
    ('white', 'black')
    """
    red, green, blue = (_linear(int(colour[k : k + 2], 16) / 255) for k in (1, 3, 5))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    if 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05:
        return "white"
    return "black"


def _linear(channel: float) -> float:
    """Return the linear light intensity of a channel of an sRGB colour (WCAG 2,
    definition of relative luminance).
    """
    if channel <= 0.04045:
        return channel / 12.92
    return float(((channel + 0.055) / 1.055) ** 2.4)
