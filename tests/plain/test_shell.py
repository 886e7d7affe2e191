"""The lab's shell in the dialogue: plain output, goals as lines, and the dialogue goes on behind it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tcptutor.course import load as load_course
from tcptutor.course.goals.goal import GoalBoard, GoalState, NearMiss
from tcptutor.journal import Journal
from tcptutor.plain.shell import PlainOutput, board_lines, news
from tests import patience
from tests.cli.command import TCPTUTOR
from tests.plain.marks import marks_of_journal
from tests.plain.typist import drawn


def shown(*pieces: bytes, keeps_returns: bool = False, encoding: str = "utf-8") -> str:
    """What is printed of a shell's output, which arrives in pieces."""
    output = PlainOutput(encoding, keeps_returns)
    return "".join(output.text(each) for each in (b" export TERM=dumb; ...\r\nplain-", b"text\r\n", *pieces))


def test_output_begins_after_the_setup_line() -> None:
    assert shown(b"h1:~# ") == "h1:~# "
    assert PlainOutput("utf-8", False).text(b"not ready\r\n") == ""


def test_colors_titles_and_cursor_movements_are_left_out_even_in_pieces() -> None:
    assert shown(b"\x1b[01;34mbin\x1b[0m\r\n") == "bin\n"
    assert shown(b"a\x1b[3", b"1mb\x1b]0;title", b"\x07c\x1b[2J\x1b(Bd\x07") == "abcd"
    assert shown("tree ├── x".encode(), encoding="ascii") == "tree x"


def test_a_raw_terminal_keeps_its_carriage_returns() -> None:
    assert shown(b"a\r\nb\r\n", keeps_returns=True) == "a\r\nb\r\n"


def test_goals_are_told_when_they_change() -> None:
    first = GoalState(id="delay", text="The path delays by 20 ms")
    second = GoalState(id="rate", text="The rate is 5 Mbit/s", due=False)
    before = GoalBoard(goals=(first, second))
    near = GoalState(id="delay", text=first.text, near=NearMiss(kind="x", text="It delays by 20 s."))
    after = GoalBoard(goals=(GoalState(id="delay", text=first.text, ticked=True), second))
    assert [*news(before, before)] == []
    assert [*news(before, GoalBoard(goals=(near, second)))] == ["Almost: It delays by 20 s."]
    assert [*news(before, after)] == ["Goal reached: The path delays by 20 ms."]
    assert [*news(after, before)] == ["No longer reached: The path delays by 20 ms."]
    assert [*board_lines(after)] == [
        "1 of 2 goals are reached.",
        "The path delays by 20 ms: reached.",
        "The rate is 5 Mbit/s: open, after the goals before it.",
    ]


@pytest.mark.guest
def test_a_page_by_hand_at_a_pipe(mark: str, without_state: Path, tmp_path: Path) -> None:
    lines = ["1.4", "terminal", "h2 iperf3 -s -D", "tcpdump -n -i h1-eth0 tcp &", "sleep 3"]
    lines += ["iperf3 -c 10.0.0.2 -n 20K", "ls --color=always /", "sleep 4", "exit", "where", "quit"]
    done = subprocess.run(
        [TCPTUTOR, "--plain"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=patience.seconds(120),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert drawn(done.stdout) == []
    assert "Goal reached: A program on h2 waits for connections." in done.stdout
    assert "3 of 3 goals are reached." in done.stdout
    assert done.stdout.index("The shell has ended.") < done.stdout.index("Left on this page")
    journal = Journal.open(without_state / "tcptutor" / "journal.db")
    marks = marks_of_journal(load_course(None), journal, tmp_path)
    journal.close()
    assert marks["tcp-basics", "a-connection-in-a-capture", "shell"] == (3.0, "full")
