"""A page's shell as its file has it: what is read, and what is refused with file and key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.base.errors import ContentError, UsageError
from tcptutor.course import load
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.page_record import ActivityRecord, PageRecord, Response

from .conftest import EXAMPLES

PAGE = "03-by-hand/01-delay-and-rate.md"
SECOND = "03-by-hand/02-two-algorithms.md"


def shells(root: Path = EXAMPLES) -> tuple[ShellActivity, ...]:
    found = tuple(step.shell for step in load(root).modules[2].steps)
    assert all(found)
    return tuple(shell for shell in found if shell)


def edited(tmp_path: Path, page: str, old: str, new: str) -> Path:
    root = Path(shutil.copytree(EXAMPLES, tmp_path / "lessons"))
    text = (root / page).read_text(encoding="utf-8")
    assert old in text
    (root / page).write_text(text.replace(old, new, 1), encoding="utf-8")
    return root


def test_a_network_that_is_not_shaped_and_that_of_an_experiment() -> None:
    plain, shaped = shells()
    assert (plain.name, plain.experiment.path.rate, plain.hosts) == ("", None, ("s1", "h1", "h2"))
    assert (shaped.name, shaped.experiment.path.rate) == ("by-hand/short-link", 4e6)
    assert (plain.in_order, shaped.in_order) == (False, True)
    assert [command.host for command in plain.commands] == ["s1", "h1"]
    assert [len(goal.conditions) for goal in plain.parsed_goals] == [1, 2, 4]
    assert [goal.about_run for goal in shaped.parsed_goals] == [False, True, False, True]


def test_the_kernel_must_have_what_is_set_there_by_hand() -> None:
    plain, shaped = shells()
    assert set(plain.kernel_requirements.qdiscs) == {"netem", "tbf", "fq"}
    assert set(shaped.kernel_requirements.congestion_controls) == {"reno", "htcp"}
    assert shaped.kernel_requirements.path.rate == 4e6


def test_a_page_says_what_is_done_there() -> None:
    step = load(EXAMPLES).modules[2].steps[0]
    assert step.kinds == ("shell",)
    assert not step.is_done(PageRecord(visited=True))
    record = ActivityRecord().with_response(Response(("a", "b", "c"), correct=True))
    assert step.is_done(PageRecord(visited=True, activities={"shell": record}))


def test_goals_are_not_typed() -> None:
    shell = shells()[0]
    assert shell.mark(shell.entry_ids).correct
    mark = shell.mark(shell.entry_ids[:1])
    assert (mark.correct, mark.feedback) == (False, "2 still to go.")
    for given in ("delay", (), ("gone",)):
        with pytest.raises(UsageError):
            shell.mark(given)


REFUSED = {
    "no such quantity": (
        'path.delay = "20 ms" }',
        'path.dely = "20 ms" }',
        "shell.goal[1].when.path.dely",
        "did you mean path.delay",
    ),
    "no such figure": (
        "run.throughput",
        "run.speed",
        "shell.goal[3].when.run.speed",
        "no quantity 'run.speed'",
    ),
    "a value without a unit": (
        '{ path.delay = "20 ms" }',
        "{ path.delay = 20 }",
        "shell.goal[1].when.path.delay",
        "has no unit",
    ),
    "an empty range": ("8.5 Mbit/s to", "11 Mbit/s to", "when.run.throughput", "is an empty range"),
    "nothing asked": ('{ path.delay = "20 ms" }', "{ }", "shell.goal[1].when", "is empty"),
    "a number of its own": ('id = "delay"', 'id = "rate"', "shell.goal[2].id", "the id of another goal"),
    "no such interface": (
        'interface = "s1-eth2"',
        'interface = "s1-eth3"',
        "shell.goal[1].interface",
        "no interface 's1-eth3'",
    ),
    "no such host": ('hosts = ["s1", "h1", "h2"]', 'hosts = ["s1", "h3"]', "shell.hosts[2]", "no host 'h3'"),
    "a command elsewhere": (
        'host = "h1"',
        'host = "s2"',
        "shell.command[2].host",
        "no host offered here 's2'",
    ),
    "a key that is not": (
        "stays_ticked = true",
        "twice = true",
        "shell.goal[3].twice",
        "the keys are id, text, when, interface, stays_ticked",
    ),
    "another order": ("[shell]", '[shell]\norder = "none"', "shell.order", "any, sequence"),
    "settings of nothing": ("[shell]", '[shell]\nset = { rate = "1 Mbit/s" }', "shell.set", "set name"),
    "five pairs": ("[shell]", "[shell]\npairs = 5", "shell.pairs", "1 to 4"),
    "no such experiment": (
        "[shell]",
        '[shell]\nname = "short-lnk"',
        "shell.name",
        "did you mean by-hand/short-link",
    ),
    "a goal as a text": (
        'when = { path.delay = "20 ms" }',
        'when = "20 ms"',
        "shell.goal[1].when",
        "must be a table",
    ),
}


@pytest.mark.parametrize(("old", "new", "key", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_watched_is_refused(tmp_path: Path, old: str, new: str, key: str, says: str) -> None:
    root = edited(tmp_path, PAGE, old, new)
    with pytest.raises(ContentError) as caught:
        load(root)
    assert str(caught.value).startswith(f"lessons/{PAGE}: ")
    assert key in str(caught.value)
    assert says in str(caught.value)
    assert str(caught.value) in lint(root)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            '{ hosts.algorithm = "reno" }',
            '{ hosts.algorithm = "rino" }',
            "goal[1].when.hosts.algorithm: no congestion",
        ),
        ("sysctl.h1.tcp_wmem", "sysctl.h7.tcp_wmem", "goal[3].when.sysctl.h7.tcp_wmem: no host 'h7'"),
        ("sysctl.tcp_rmem", "sysctl.tcp_congestion_control", "use hosts.algorithm"),
        ('"bottleneck"', '"botleneck"', "did you mean bottleneck"),
        ("run.streams = 4", 'run.streams = "many"', "goal[4].when.run.streams"),
    ],
)
def test_names_that_there_are_not_are_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(ContentError) as caught:
        load(edited(tmp_path, SECOND, old, new))
    assert says in str(caught.value)


LINTED = {
    "goals that exclude each other": (
        SECOND,
        'when = { hosts.algorithm = "reno" }\nstays_ticked = true',
        'when = { hosts.algorithm = "reno" }\n[[shell.goal]]\nid = "c"\ntext = "It is CUBIC"\n'
        'when = { hosts.algorithm = "cubic" }',
        "shell.goal[2].when: hosts.algorithm contradicts the goal 'reno': set stays_ticked = true there",
    ),
    "what is there already": (
        SECOND,
        'when = { hosts.algorithm = "reno" }',
        'when = { path.rate = "4 Mbit/s" }',
        "shell.goal[1].when: already holds at the start",
    ),
    "what no run measures": (
        PAGE,
        '"8.5 Mbit/s to 10 Mbit/s"',
        '"9.4 Mbit/s"',
        "shell.goal[3].when.run.throughput: 9.4 Mbit/s is almost never measured",
    ),
    "no sentence": (
        PAGE,
        "The way of the data takes 20 ms longer",
        "Delay",
        "shell.goal[1].text: needs a sentence",
    ),
    "one hint": (
        PAGE,
        '    "netem is the root with handle 1:, tbf is below it with parent 1:.",\n',
        "",
        "shell.hints: 1 of",
    ),
}


@pytest.mark.parametrize(("page", "old", "new", "said"), LINTED.values(), ids=LINTED)
def test_what_does_not_teach_is_named(tmp_path: Path, page: str, old: str, new: str, said: str) -> None:
    found = lint(edited(tmp_path, page, old, new))
    assert any(line.startswith(f"lessons/{page}: ") and said in line for line in found), found
