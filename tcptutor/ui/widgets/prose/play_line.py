"""Line below a moving figure: the state of its player, with the instant on a scale."""

from __future__ import annotations

from tcptutor.figures.lines import MUTED, Line
from tcptutor.ui.widgets.prose.playback import Playback

_PLAYING, _STANDING = "▶", "▷"
_PASSED, _AHEAD = "━", "┈"
_MOST_SCALE, _LEAST_SCALE = 24, 6
"""Columns of the scale."""
_UNITS = ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (0.0, 1e6, "µs"))
"""Smallest length, units per second, and name."""


def draw(playback: Playback, keys_hint: str, width: int) -> Line:
    """Return the line in at most `width` columns.

    Args:
        playback: State of the player.
        keys_hint: Effect of keys and clicks, shown while the figure does not play.
        width: Columns.
    """
    speed = f"{playback.speed:g}x"
    hint = f"{keys_hint}, {speed}" if keys_hint and playback.speed != 1 else keys_hint
    state = f"{_PLAYING} {speed}" if playback.playing else f"{_STANDING} {hint}".rstrip()
    at = "" if playback.resting and not playback.playing else instant(playback)
    text = "  ".join(filter(None, [state, at]))
    room = min(width - len(text) - 2, _MOST_SCALE)
    if at and room >= _LEAST_SCALE:
        passed = round(room * playback.t / playback.motion.seconds)
        text = "  ".join([state, at, _PASSED * passed + _AHEAD * (room - passed)])
    return Line.of((text[:width], MUTED))


def instant(playback: Playback) -> str:
    """Return the instant and the length in a common unit: "12 of 40 ms"; both numbers have the same width."""
    seconds, unit = playback.motion.seconds, playback.motion.unit
    scale = 1.0
    if not unit:
        scale, unit = next((scale, unit) for least, scale, unit in _UNITS if seconds >= least)
    digits = 0 if seconds * scale >= 30 else 1 if seconds * scale >= 3 else 2
    length = f"{seconds * scale:.{digits}f}"
    return f"{playback.t * scale:{len(length)}.{digits}f} of {length} {unit}"
