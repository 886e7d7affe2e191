"""Playback of a moving figure: which instant it shows, and how time moves it. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace

from tcptutor.figures.figure import Motion

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the normal speed, from the slowest."""
_END_S = 1.0
"""Seconds for which the end stays before the figure rests."""
_TENTHS = 10
"""Steps through a motion without stops."""


@dataclass(frozen=True)
class Playback:
    """State of a player; each method returns the next state."""

    motion: Motion
    t: float
    """Instant on display, seconds of the motion."""
    playing: bool = False
    resting: bool = True
    """True while the figure shows its state of rest, and not an instant that the student chose."""
    speed: float = 1.0
    ended_for: float = 0.0
    """Seconds for which the end has been on display."""

    @classmethod
    def at_rest(cls, motion: Motion) -> Playback:
        return cls(motion, motion.rest)

    def advance(self, seconds: float) -> Playback:
        """Return the state after `seconds` of wall-clock time; at the end the figure rests."""
        if not self.playing:
            return self
        if self.t >= self.motion.seconds:
            ended_for = self.ended_for + seconds
            return replace(self, ended_for=ended_for) if ended_for < _END_S else self.rest()
        t = self.t + seconds * self.speed * self.motion.seconds / self.motion.watch
        return replace(self, t=min(t, self.motion.seconds), ended_for=0.0)

    def toggle(self) -> Playback:
        """Pause, or play: from the beginning if the figure rests or is at its end."""
        if self.playing:
            return replace(self, playing=False)
        starts = self.resting or self.t >= self.motion.seconds
        return replace(self, t=0.0 if starts else self.t, playing=True, resting=False, ended_for=0.0)

    def step(self, by: int) -> Playback:
        """Pause at the next (1) or previous (-1) stop; the first stop follows the last."""
        stops = self.motion.stops or tuple(self.motion.seconds * n / _TENTHS for n in range(_TENTHS + 1))
        if self.resting:
            at = 0 if by > 0 else -1
        elif by > 0:
            at = bisect_right(stops, self.t) % len(stops)
        else:
            at = bisect_left(stops, self.t) - 1
        return replace(self, t=stops[at], playing=False, resting=False)

    def change_speed(self, by: int) -> Playback:
        """Return the state at a faster (1) or slower (-1) speed."""
        at = min(max(SPEEDS.index(self.speed) + by, 0), len(SPEEDS) - 1)
        return replace(self, speed=SPEEDS[at])

    def rest(self) -> Playback:
        """Stop at the most telling instant."""
        return replace(self, t=self.motion.rest, playing=False, resting=True, ended_for=0.0)
