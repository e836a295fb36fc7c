"""One way to divide a frame into strict rows and loose windows (Lee et al., Section 7)."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Pattern:
    """A frame of ``rows`` quanta with ``k`` loose slots in ``d`` windows (k = 0: no windows)."""

    k: int
    d: int
    rows: int
    quantum_seconds: float

    @property
    def key(self) -> str:
        """``k,d``, as reports name the pattern."""
        return f"{self.k},{self.d}"

    @property
    def frame_seconds(self) -> float:
        """L = K q."""
        return self.rows * self.quantum_seconds

    @property
    def strict_rows(self) -> int:
        """K - k."""
        return self.rows - self.k

    @property
    def on_seconds(self) -> float:
        """Length of one loose window, k q / d (0 without windows)."""
        return self.k * self.quantum_seconds / self.d

    @property
    def off_seconds(self) -> float:
        """Gap between loose windows, (L - k q) / d."""
        return self.strict_rows * self.quantum_seconds / self.d

    def windows(self) -> tuple[tuple[float, float], ...]:
        """(start, length) in seconds of the loose windows of a frame, each followed by R/d rows."""
        if not self.k:
            return ()
        period = self.on_seconds + self.off_seconds
        return tuple((window * period, self.on_seconds) for window in range(self.d))

    def row_start(self, row: int) -> float:
        """Start in seconds of strict row *row* of a frame."""
        if not self.k:
            return row * self.quantum_seconds
        window, place = divmod(row, self.strict_rows // self.d)
        period = self.on_seconds + self.off_seconds
        return window * period + self.on_seconds + place * self.quantum_seconds
