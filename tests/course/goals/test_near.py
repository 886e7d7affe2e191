"""Near misses, from what sessions reported when each was made in a real shell."""

from __future__ import annotations

import re
from math import isinf
from pathlib import Path

import pytest

from tcptutor.backends.events import Recording
from tcptutor.course import load
from tcptutor.course.goals.goal import PLACED, ParsedGoal
from tcptutor.course.goals.near_misses import SLIPS
from tcptutor.course.goals.near_misses.error_messages import _MESSAGES, is_taken, means, refused
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.wire.protocol import CommandEnded, RunDetected, TerminalOutput, event_decoder

from .cases import CASES, NearCase
from .made import HERE, asked, netem, state, tbf

SESSIONS = Path(__file__).parent / "sessions"


def told(case: NearCase, number: int) -> GoalWatch:
    """The session of that case, watched once more."""
    watch = GoalWatch([asked("g", case.when, interface=case.interface)])
    recording = None
    for line in (SESSIONS / f"{number:02}-{case.kind}.jsonl").read_bytes().splitlines():
        event = event_decoder.decode(line)
        if isinstance(event, TerminalOutput):
            watch.take_output("s1", event.data)
            continue
        if isinstance(event, RunDetected):
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
    goals = [asked("a", {"path.delay": "20 ms"}, interface="s1-eth2"), asked("b", {"path.rate": "10 Mbit/s"})]
    watch = GoalWatch(goals)
    watch.take(state())
    board = watch.take(state({"delay": 0.02, "rate": 10e6}, {"s1-eth2": (netem(delay=0.02), tbf(10e6))}))
    assert board.done
    assert [goal.near for goal in board.goals] == [None, None]


def test_nothing_done_is_no_near_miss() -> None:
    watch = GoalWatch(
        [
            asked("a", {"path.delay": "20 ms", "path.rate": "10 Mbit/s"}),
            asked("b", {"run.limited-by": "pacing"}),
        ]
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
        ("tcpdump: Couldn't change to 'root' uid=0 gid=0: Operation not permitted", "no-users"),
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
        "no-users",
    }  # fmt: skip
    assert {message.kind for message in _MESSAGES} <= tested


def _half_done() -> list[tuple[str, ParsedGoal, str]]:
    """Of each shipped goal that asks several things of one interface: each of these in turn."""
    found = []
    for module in load().modules:
        for step in module.steps:
            for goal in step.shell.parsed_goals if step.shell is not None else ():
                names = [
                    name
                    for name, each in goal.path_conditions()
                    if name in PLACED and each.requirement.low > 0
                ]
                if goal.goal.interface and len(names) > 1:
                    found += [(f"{module.id}/{step.id}", goal, name) for name in names]
    return found


def test_no_page_names_one_interface_as_right_and_wrong() -> None:
    """Where one condition of a goal is met where the page wants it, and another is not met yet."""
    wrong = []
    cases = _half_done()
    for page, goal, done in cases:
        values = {
            name: each.requirement.low
            if isinf(each.requirement.high)
            else (each.requirement.low + each.requirement.high) / 2
            for name, each in goal.path_conditions()
            if name == done
        }
        path = {name: round(value) if name == "queue" else value for name, value in values.items()}
        if "queue" in values:
            path["rate"] = 1e6
        shaper = tbf(values.get("rate", 1e6), limit=round(values.get("queue", 60_000)))
        by_netem = {name: value for name, value in values.items() if name not in ("rate", "queue")}
        chain = (netem(**by_netem), shaper) if not by_netem else (netem(**by_netem),)
        watch = GoalWatch([goal])
        watch.take(state())
        near = watch.take(state(path, {goal.goal.interface: chain})).goals[0].near
        if near is not None and near.kind == "elsewhere":
            wrong.append((page, done, near.text))
    assert cases
    assert not wrong


def test_the_slip_behind_a_half_done_goal_is_told() -> None:
    goal = asked("a", {"path.delay": "50 ms", "path.loss": "1 %"}, interface="s1-eth2")
    watch = GoalWatch([goal])
    watch.take(state())
    near = (
        watch.take(state({"delay": 0.05, "loss": 1e-4}, {"s1-eth2": (netem(delay=0.05, loss=1e-4),)}))
        .goals[0]
        .near
    )
    assert near is not None
    assert near.kind == "percent"


@pytest.mark.parametrize(("typed", "written"), [(40e-9, "40ms, not 40"), (40e-6, "40ms, not 40")])
def test_a_time_without_a_unit_is_repeated_as_it_was_typed(typed: float, written: str) -> None:
    watch = GoalWatch([asked("a", {"path.delay": "40 ms"})])
    watch.take(state())
    near = watch.take(state({"delay": typed}, {"s1-eth2": (netem(delay=typed),)})).goals[0].near
    assert near is not None
    assert near.kind == "time-unit"
    assert written in near.text


def test_a_bucket_below_a_frame_keeps_the_rate_from_being_reached() -> None:
    watch = GoalWatch([asked("a", {"path.rate": "5 Mbit/s"})])
    watch.take(state())
    board = watch.take(state({"rate": 5e6}, {"s1-eth2": (tbf(5e6, burst=1500),)}))
    assert not board.done
    assert board.goals[0].near is not None
    assert board.goals[0].near.kind == "small-burst"
    assert watch.take(state({"rate": 5e6}, {"s1-eth2": (tbf(5e6, burst=1514),)})).done


def test_a_second_discipline_at_the_root_is_told_its_parent() -> None:
    held = state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)})
    line = "sudo tc qdisc add dev s1-eth2 root handle 2: tbf rate 10mbit burst 5000 limit 15000"
    near = refused(CommandEnded(1, "s1", line, 2), held)
    assert near is not None
    assert "tbf must go below it: write parent 1: instead of root" in near.text
    assert refused(CommandEnded(1, "s1", line, 0), held) is None
    assert refused(CommandEnded(1, "s1", line, 2), state()) is None


@pytest.mark.parametrize(
    ("command", "taken"),
    [
        ("sudo tc qdisc add dev s1-eth2 root handle 1: netem delay 20ms", True),
        ("tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 1mbit burst 5000 limit 9000", True),
        ("tc qdisc add dev s1-eth2 parent 1:1 handle 2: tbf rate 1mbit burst 5000 limit 9000", True),
        ("tc qdisc add dev s1-eth2 parent 2: handle 3: netem", False),
        ("tc qdisc change dev s1-eth2 root netem delay 20ms", False),
        ("tc qdisc add dev s2-eth1 root netem delay 20ms", False),
        ("iperf3 -c h2", False),
    ],
)
def test_a_command_whose_place_is_taken_is_known(command: str, taken: bool) -> None:
    held = state({"rate": 10e6}, {"s1-eth2": (netem(delay=0.02), tbf(10e6))})
    assert is_taken(command, held) is taken
    assert not is_taken(command, state())
