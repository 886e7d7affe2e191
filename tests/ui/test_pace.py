"""Frames of a moving figure: as many as output and processors allow."""

from __future__ import annotations

from tcptutor.ui.widgets.prose.pace import BYTES_PER_S, FRAME_S, LONGEST_FRAME_S, FramePace


def played(delay: float, written: int, frames: int = 40) -> tuple[FramePace, float]:
    """The pace after frames that are all late, and their seconds."""
    pace, seconds = FramePace(), 0.0
    for _ in range(frames):
        elapsed = pace.wait + delay
        seconds += elapsed
        pace = pace.after(elapsed, written)
    return pace, seconds


def test_small_frames_in_time_come_at_the_full_rate() -> None:
    pace, _ = played(delay=0.002, written=200)
    assert pace.wait == FRAME_S


def test_large_frames_keep_to_the_budget_of_output() -> None:
    _, seconds = played(delay=0.0, written=2000, frames=100)
    assert 100 * 2000 / seconds < 1.2 * BYTES_PER_S


def test_frames_that_wait_for_a_processor_become_fewer_and_come_back() -> None:
    pace, _ = played(delay=0.1, written=200)
    assert pace.wait > 3 * FRAME_S
    assert played(delay=5.0, written=200)[0].wait == LONGEST_FRAME_S
    for _ in range(20):
        pace = pace.after(pace.wait, 200)
    assert pace.wait == FRAME_S


def test_one_late_frame_changes_little() -> None:
    pace = FramePace().after(FRAME_S + 0.1, 200)
    assert pace.wait < 2 * FRAME_S
