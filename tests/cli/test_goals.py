"""`tcptutor shell MODULE/PAGE` and `tcptutor check`: a page's network by hand, and what its goals say meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.course import load
from tcptutor.course.goals.goal import GoalBoard, GoalState, NearMiss
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.evidence.timeline import timeline
from tcptutor.grading.marking import grade_hand_in
from tcptutor.journal import Journal
from tcptutor.journal.goals import GoalFile, open_pages
from tests import patience
from tests.command import here
from tests.course.conftest import EXAMPLES

PAGE = "by-hand/delay-and-rate"
BOARD = GoalBoard(
    goals=(
        GoalState(id="delay", text="The way of the data takes 20 ms longer", ticked=True),
        GoalState(
            id="rate", text="The link carries 10 Mbit/s", near=NearMiss("prefix", "10 kbit/s: write mbit")
        ),
        GoalState(id="seen", text="A flow gets it", due=False),
    )
)
WITH_EXAMPLES = f"""
from pathlib import Path
from tcptutor.base import places
places.lessons = lambda: Path({str(EXAMPLES)!r})
from tcptutor.commands.command_line import main
main(prog_name="tcptutor")
"""
"""The command line over the examples in place of the course."""


@pytest.fixture(autouse=True)
def examples(monkeypatch: pytest.MonkeyPatch, without_state: Path) -> None:
    monkeypatch.setattr(places, "lessons", lambda: EXAMPLES)


@pytest.fixture
def worked_on() -> Iterator[GoalFile]:
    file = GoalFile("by-hand", "delay-and-rate")
    file.write(BOARD)
    yield file
    file.close()


def test_it_says_what_the_page_says(worked_on: GoalFile) -> None:
    done = here("check")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "A delay and a rate  1 of 3 goals",
        "  ✓ The way of the data takes 20 ms longer",
        "  ○ The link carries 10 Mbit/s",
        "    → 10 kbit/s: write mbit",
        "  · A flow gets it (after the goals before it)",
    ]
    assert here("check", PAGE).stdout == done.stdout
    assert here("check", "by-hand/1").stdout == done.stdout


def test_as_json(worked_on: GoalFile) -> None:
    told = json.loads(here("check", "--json").stdout)
    assert (told["module"], told["page"], told["open"]) == ("by-hand", "delay-and-rate", True)
    assert (told["reached"], told["done"], told["done_before"]) == (1, False, False)
    assert [goal["ticked"] for goal in told["goals"]] == [True, False, False]
    assert told["goals"][1]["near"]["kind"] == "prefix"


def test_a_page_whose_network_is_closed_is_what_was_recorded(worked_on: GoalFile) -> None:
    worked_on.close()
    assert list(open_pages()) == []
    done = here("check", PAGE)
    assert done.returncode == 1
    assert "0 of 3 goals" in done.stdout
    assert f"the network is not open: `tcptutor shell {PAGE}` opens it" in done.stdout


def test_of_several_pages_the_last_changed(worked_on: GoalFile) -> None:
    other = GoalFile("by-hand", "two-algorithms")
    other.write(GoalBoard(goals=(GoalState(id="a", text="New connections take Reno", ticked=True),)))
    done = here("check")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "One link, two algorithms  1 of 1 goals")
    other.close()
    assert here("check").stdout.startswith("A delay and a rate")


def test_a_file_that_is_damaged_or_cannot_be_written_is_nobody(without_state: Path) -> None:
    file = GoalFile("by-hand", "delay-and-rate")
    (without_state / "tcptutor" / "goals" / "by-hand.delay-and-rate.json").write_text("{")
    assert list(open_pages()) == []
    file.close()
    there = without_state / "tcptutor" / "goals"
    for each in there.iterdir():
        each.unlink()
    there.rmdir()
    there.write_text("a file in its place")
    file = GoalFile("by-hand", "delay-and-rate")
    file.write(BOARD)
    file.close()
    assert list(open_pages()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("check", "no page's network is open: open one with `tcptutor shell MODULE/PAGE`"),
        ("check by-hand", "by-hand is a module: write a page of it as by-hand/1"),
        ("check by-hand/delay-and-rat", "no page 'delay-and-rat': did you mean delay-and-rate?"),
        ("check own-run/a-loss", "has no goals: pages with goals are 3.1, 3.2"),
        ("shell by-hand/delay-and-rate h3", "there is no host 'h3': use one of s1, h1, h2"),
        ("shell by-hand/delay-and-rate --set rate=1Mbit/s", "defines its own network: omit"),
        ("shell h1 h2", "'h1 h2' has too many words"),
        ("shell own-run/a-loss", "`tcptutor shell --experiment own-run/lossy` opens its network"),
    ],
)
def test_what_there_is_not_is_one_line(words: str, says: str) -> None:
    done = here(*words.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr


@pytest.mark.guest
def test_a_page_by_hand_from_its_beginning_to_its_record(
    mark: str, snapshots: object, without_state: Path
) -> None:
    """What reaches the goals here is typed into a real shell; another process asks how they stand."""
    command = [sys.executable, "-c", WITH_EXAMPLES]
    shell = subprocess.Popen(
        [*command, "shell", "by-hand/two-algorithms", "--backend", "guest"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert shell.stdin is not None

    def type_(line: str) -> None:
        assert shell.stdin is not None
        shell.stdin.write(f"{line}\n")
        shell.stdin.flush()

    def until(ticks: list[bool], seconds: float = 60) -> None:
        deadline = patience.Deadline(seconds)
        while deadline.left:
            found = [each.board for each in open_pages()]
            if found and [goal.ticked for goal in found[0].goals] == ticks:
                return
            time.sleep(0.1)
        raise AssertionError(found)

    try:
        until([False] * 4)
        buffers = "net.ipv4.tcp_rmem='10240 87380 1000000' net.ipv4.tcp_wmem='10240 87380 1000000'"
        type_("h2 iperf3 -s -D; sysctl -w net.ipv4.tcp_congestion_control=reno")
        until([True, False, False, False])
        type_("sleep 1; iperf3 -c h2 -n 2M")
        until([True, True, False, False])
        type_(f"sysctl -w {buffers}; h2 sysctl -w {buffers}")
        until([True, True, True, False])
        assert here("check").stdout.startswith("One link, two algorithms  3 of 4 goals")
        # Long enough for a machine that is busy to fill the link.
        type_(f"iperf3 -c h2 -C htcp -t {round(patience.seconds(5))} -P 4; sleep 1")
        until([True] * 4, patience.seconds(60))
        assert here("check", "by-hand/two-algorithms").returncode == 0
        said, errors = shell.communicate("exit\n", timeout=patience.seconds(30))
    finally:
        shell.kill()
    assert shell.returncode == 0, errors
    assert "One link, two algorithms  4 of 4 goals" in said
    journal = Journal.open()
    page = journal.page("by-hand", "two-algorithms")
    journal.close()
    assert page.visited
    assert page.activity("shell").right is not None
    assert "all goals were reached earlier" in here("check", "by-hand/2").stdout
    # Handed in, the session alone says that they were.
    hand_in = without_state / "x.tcphandin"
    assert here("submit", "-o", str(hand_in)).returncode == 0
    with open_hand_in(hand_in) as opened:
        found = grade_hand_in(opened, load(EXAMPLES))
        (session,) = timeline(opened.events).page("by-hand", "two-algorithms").sessions
        assert len(opened.run_ids) >= 2
    (mark,) = (mark for mark in found.marks if (mark.page, mark.kind) == ("two-algorithms", "shell"))
    assert (mark.outcome, mark.reason) == ("full", "")
    assert {each.host for each in session.record.commands} == {"h1"}
    # The line that reached the last goal had not come to its end.
    assert any("iperf3 -c h2 -n 2M" in each.command for each in session.record.commands)
