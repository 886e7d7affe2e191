"""Near misses, from what sessions reported when each was made in a real shell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tcptutor.course.goals.near import SLIPS
from tcptutor.course.goals.near.printed import _MESSAGES, means
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.lab.protocol import RunFound, Wrote, event_decoder
from tcptutor.runs.recording import Recording

from .cases import CASES, NearCase
from .made import HERE, asked, netem, state, tbf

SESSIONS = Path(__file__).parent / "sessions"


def told(case: NearCase, number: int) -> GoalWatch:
    """The session of that case, watched once more."""
    watch = GoalWatch([asked("g", case.when, on=case.on)])
    recording = None
    for line in (SESSIONS / f"{number:02}-{case.kind}.jsonl").read_bytes().splitlines():
        event = event_decoder.decode(line)
        if isinstance(event, Wrote):
            watch.printed("s1", event.data)
            continue
        if isinstance(event, RunFound):
            recording = Recording(event.experiment, HERE)
        if recording is not None:
            recording.take(event)
        watch.take(event, recording.run if recording is not None else None)
    return watch


@pytest.mark.parametrize(
    ("number", "case"), enumerate(CASES), ids=[f"{number}-{case.kind}" for number, case in enumerate(CASES)]
)
def test_it_is_recognised_and_explained(number: int, case: NearCase) -> None:
    board = told(case, number).board
    assert not board.done
    near = board.goals[0].near or board.printed
    assert near is not None
    assert near.kind == case.kind
    assert re.search(case.says, near.text), near.text
    assert "\n" not in near.text


def test_there_are_more_than_twelve_kinds_and_each_is_made() -> None:
    kinds = {slip.kind for slip in SLIPS}
    made = {case.kind for case in CASES}
    assert len(made) >= 12
    assert kinds - made == {"unsound", "another-value"}, "which test_watch.py has"


def test_what_is_right_is_no_near_miss() -> None:
    goals = [asked("a", {"path.delay": "20 ms"}, on="s1-eth2"), asked("b", {"path.rate": "10 Mbit/s"})]
    watch = GoalWatch(goals)
    watch.take(state())
    board = watch.take(state({"delay": 0.02, "rate": 10e6}, {"s1-eth2": (netem(delay=0.02), tbf(10e6))}))
    assert board.done
    assert [goal.near for goal in board.goals] == [None, None]


def test_nothing_done_is_no_near_miss() -> None:
    watch = GoalWatch(
        [asked("a", {"path.delay": "20 ms", "path.rate": "10 Mbit/s"}), asked("b", {"limited_by": "pacing"})]
    )
    assert [goal.near for goal in watch.take(state()).goals] == [None, None]


def test_what_the_page_itself_has_on_the_way_back_is_no_slip() -> None:
    back = {"s2-eth1": (netem(delay=0.02),)}
    watch = GoalWatch([asked("a", {"path.delay": "20 ms"})])
    assert watch.take(state({"reverse_delay": 0.02}, back)).goals[0].near is None
    assert watch.take(
        state({"reverse_delay": 0.02, "delay": 0.02}, {**back, "s1-eth2": (netem(delay=0.02),)})
    ).done


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("RTNETLINK answers: File exists", "added-twice"),
        ("Error: Cannot delete qdisc with handle of zero.", "nothing-there"),
        ('What is "dely"?', "unknown-word"),
        ('tbf: unknown parameter "Kbit"', "unit-apart"),
        ('tbf: the "burst" parameter is mandatory.', "no-burst"),
        ("Error: Specified qdisc kind is unknown.", "no-qdisc"),
        (
            "sysctl: cannot stat /proc/sys/net/ipv4/tcp_congestion_contol: No such file or directory",
            "no-sysctl",
        ),
        ("ping: connect: Network is unreachable", "from-switch"),
        # As where the lab runs on the student's own kernel without root.
        ('sysctl: setting key "net.ipv4.tcp_congestion_control": Operation not permitted', "restricted"),
        ("From 10.0.0.1 icmp_seq=1 Destination Host Unreachable", "no-answer"),
        ("h1:~# tc qdisc show", ""),
        ("[  5]   0.00-1.00   sec  1.12 MBytes  9.41 Mbits/sec    0   70.7 KBytes", ""),
    ],
)
def test_messages_of_programs_are_explained(line: str, kind: str) -> None:
    near = means(line)
    assert (near.kind if near else "") == kind


def test_every_message_is_one_that_a_test_has() -> None:
    tested = {case.kind for case in CASES} | {
        "nothing-there", "restricted", "unknown-word", "no-burst", "no-qdisc", "no-sysctl", "from-switch", "no-answer",
    }  # fmt: skip
    assert {message.kind for message in _MESSAGES} <= tested
