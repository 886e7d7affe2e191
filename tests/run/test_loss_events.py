"""What counts as a loss event, and what as a cut by marks, by what the kernel reports of a flow between two samples."""

from __future__ import annotations

import pytest

from tcptutor.run import CA_STATES, SSTHRESH_INFINITE, cuts_at

NEVER = SSTHRESH_INFINITE


def events(*rows: tuple[str, int, int, int, int, int]) -> list[int]:
    """`rows`: state, ssthresh, retransmissions, marks, timeouts, acknowledged kB."""
    states, *counts = zip(*rows, strict=True)
    return list(cuts_at([CA_STATES.index(state) for state in states], *counts).losses)


def mark_cuts(*rows: tuple[str, int, int, int, int, int]) -> list[int]:
    """Of `rows` as `events` takes them."""
    states, *counts = zip(*rows, strict=True)
    return list(cuts_at([CA_STATES.index(state) for state in states], *counts).marks)


def test_an_entry_into_recovery_is_one_event_however_long_it_takes() -> None:
    assert events(
        ("open", NEVER, 0, 0, 0, 0), ("recovery", 20, 1, 0, 0, 10), ("recovery", 20, 9, 0, 0, 20),
        ("open", 20, 9, 0, 0, 30), ("open", 20, 9, 0, 0, 40),
    ) == [1]  # fmt: skip


def test_a_recovery_between_two_samples_is_seen_by_its_retransmissions() -> None:
    # A regular sawtooth sets ssthresh to what it was.
    assert events(("open", 20, 5, 0, 0, 0), ("open", 20, 6, 0, 0, 10), ("open", 20, 6, 0, 0, 20)) == [1]


def test_a_second_loss_inside_of_a_recovery_is_a_second_event() -> None:
    assert events(("open", 40, 0, 0, 0, 0), ("recovery", 20, 1, 0, 0, 10), ("recovery", 14, 2, 0, 0, 20)) == [
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("who", "state", "before", "after"),
    [
        ("HyStart leaves slow start", "open", NEVER, 60),
        ("BBR leaves its start-up", "open", NEVER, 90),
        ("Vegas finds a queue", "open", 40, 33),
        ("YeAH empties a queue", "open", 80, 61),
        ("NV finds a queue", "disorder", 50, 44),
        ("CDG answers a longer delay", "cwr", 40, 28),
    ],
)
def test_a_change_of_ssthresh_alone_is_no_loss(who: str, state: str, before: int, after: int) -> None:
    rows = [("open", before, 3, 0, 0, 0), (state, after, 3, 0, 0, 10), ("open", after, 3, 0, 0, 20)]
    assert events(*rows) == [], who


def test_westwood_sets_ssthresh_again_when_its_recovery_ends() -> None:
    assert events(
        ("open", 40, 0, 0, 0, 0), ("recovery", 33, 1, 0, 0, 10), ("recovery", 33, 2, 0, 0, 20),
        ("open", 36, 3, 0, 0, 30),
    ) == [1]  # fmt: skip


def test_a_recovery_that_is_undone_is_one_event() -> None:
    assert events(
        ("open", 40, 0, 0, 0, 0), ("recovery", 20, 1, 0, 0, 10), ("open", 40, 1, 0, 0, 20)
    ) == [1]  # fmt: skip


def test_marks_cut_once_a_window_and_are_no_losses() -> None:
    # As DCTCP or ECN have it: CWR for a round trip, and again.
    rows = [
        ("open", 40, 0, 0, 0, 0), ("cwr", 34, 0, 3, 0, 10), ("cwr", 34, 0, 5, 0, 20), ("cwr", 30, 0, 8, 0, 30),
        ("open", 30, 0, 8, 0, 40), ("cwr", 27, 0, 9, 0, 50),
    ]  # fmt: skip
    assert mark_cuts(*rows) == [1, 3, 5]
    assert events(*rows) == []


def test_a_loss_after_a_mark_or_after_a_full_host_queue_is_an_event() -> None:
    by_mark = [("open", 40, 0, 0, 0, 0), ("cwr", 20, 0, 1, 0, 10), ("recovery", 20, 1, 1, 0, 20)]
    by_host = [("open", 40, 0, 0, 0, 0), ("cwr", 20, 0, 0, 0, 10), ("recovery", 20, 1, 0, 0, 20)]
    assert events(*by_mark) == [2]
    assert mark_cuts(*by_mark) == [1]
    assert events(*by_host) == [2]


def test_timeouts_in_a_row_are_one_event() -> None:
    assert events(
        ("open", 10, 0, 0, 0, 9), ("loss", 5, 1, 0, 1, 9), ("loss", 5, 2, 0, 2, 9), ("loss", 5, 3, 0, 3, 9),
        ("loss", 5, 4, 0, 3, 12), ("loss", 2, 5, 0, 4, 12), ("loss", 2, 6, 0, 5, 12), ("open", 2, 6, 0, 5, 20),
    ) == [1, 5]  # fmt: skip


def test_a_timeout_ends_a_recovery_that_lost_its_retransmission() -> None:
    assert events(("open", 40, 0, 0, 0, 0), ("recovery", 20, 1, 0, 0, 10), ("loss", 20, 2, 0, 1, 10)) == [
        1,
        2,
    ]
