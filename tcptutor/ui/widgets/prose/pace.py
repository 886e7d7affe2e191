"""Pace of a moving figure: the time between two frames, within a budget of output and of the processors. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

BYTES_PER_S = 7000
"""Output of a figure that plays, on average over some seconds. Figures that change more have fewer frames."""
FRAME_S = 1 / 12
"""Least seconds between two frames."""
LONGEST_FRAME_S = 0.5
"""Most seconds between two frames; the figure waits for a program that is slower."""
_PATIENCE = 4.0
"""Least ratio of the time between two frames to their delay."""
_WEIGHT = 0.3
"""Weight of the latest delay in the moving mean: a single delay, such as a chart's first drawing, changes little."""


@dataclass(frozen=True)
class FramePace:
    """State of the pace; each method returns the next state.

    A frame that comes late has waited for a processor. Where many programs share few processors, as on a server with a
    class, all of them draw fewer frames then, and keys are answered sooner.
    """

    credit: float = BYTES_PER_S
    """Bytes that may be written now without a pause."""
    delay: float = 0.0
    """Mean delay of frames, seconds."""
    wait: float = FRAME_S
    """Seconds until the next frame."""

    def after(self, elapsed: float, written: int) -> FramePace:
        """Return the state after a frame.

        Args:
            elapsed: Seconds since the previous frame.
            written: Bytes of output of this frame.
        """
        delay = self.delay + _WEIGHT * (min(max(elapsed - self.wait, 0.0), LONGEST_FRAME_S) - self.delay)
        covered = min(elapsed, LONGEST_FRAME_S) * BYTES_PER_S
        credit = min(self.credit + covered, BYTES_PER_S) - written
        wait = max(FRAME_S, -credit / BYTES_PER_S, _PATIENCE * delay)
        return replace(self, credit=credit, delay=delay, wait=min(wait, LONGEST_FRAME_S))
