"""A page whose network is broken: what it may not say, and what its goals keep to themselves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tcptutor.agent.traps import TRAPS
from tcptutor.authoring.lint import lint
from tcptutor.base import places
from tcptutor.base.errors import ContentError
from tcptutor.course import load
from tcptutor.course.activities.choice import SingleChoice
from tcptutor.course.activities.shell import TELLTALES, telltale
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.wire.kernel_state import SysctlChange

from .conftest import only
from .goals.made import asked, state, tbf

PAGE = "05-broken-labs/03-it-connects.md"
PAGES = [step for module in load().modules for step in module.steps if step.shell and step.shell.fault]


def edited(tmp_path: Path, *edits: tuple[str, str]) -> Path:
    root = Path(shutil.copytree(places.lessons(), tmp_path / "lessons"))
    text = (root / PAGE).read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    (root / PAGE).write_text(text, encoding="utf-8")
    return root


def test_each_trap_has_the_words_that_give_it_away() -> None:
    assert set(TELLTALES) == set(TRAPS)
    for step in PAGES:
        assert step.shell is not None
        (named,) = [
            choice.text
            for asked in step.activities_of(SingleChoice)
            for choice in asked.choices
            if choice.correct
        ]
        assert telltale(step.shell.fault, named), step.id
    assert telltale("late-acks", "Go back, and packets come") == ""


def test_a_page_does_not_reveal_its_fault(tmp_path: Path) -> None:
    edits = [
        ('title = "It connects, and that is all"', 'title = "A small bucket"', "title"),
        ("*As it was built*", "Is the burst right? *As it was built*", "prose"),
        ('text = "The network is', 'text = "With a larger burst the network is', "shell.goal burst: text"),
        ('id = "mended"', 'id = "burst"', "shell.goal burst: id"),
        ("Small packets arrive.", "The bucket is small.", "shell.hints"),
        ('prompt = "What was wrong?"', 'prompt = "What was wrong with the burst?"', "question cause: prompt"),
    ]
    root = edited(tmp_path, *((old, new) for old, new, _ in edits))
    problems = [line for line in lint(only(root, PAGE)) if "reveals the fault" in line]
    assert all(PAGE in problem for problem in problems)
    assert [key for _, _, key in edits if not any(key in problem for problem in problems)] == []
    assert len(problems) == len(edits)


def test_an_unknown_trap_is_refused_with_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(
        ContentError, match=r"03-it-connects.*shell\.fault: no trap 'big-bucket'.*small-bucket"
    ):
        load(edited(tmp_path, ('fault = "small-bucket"', 'fault = "big-bucket"')))


def test_the_experiment_of_a_broken_page_is_the_network_that_it_should_be() -> None:
    assert {step.shell.fault for step in PAGES if step.shell} == set(TRAPS)
    for step in PAGES:
        shell = step.shell
        assert shell is not None
        assert (shell.experiment.path.reverse_delay, shell.experiment.path.reverse_loss) == (0, 0)
        assert (shell.experiment.hosts.offloads, shell.experiment.hosts.sysctls) == (False, {})
        assert any(goal.about_run for goal in shell.parsed_goals)
        assert any(not goal.about_run for goal in shell.parsed_goals)


def test_the_initial_fault_is_no_near_miss() -> None:
    goal = asked("a", {"path.queue": "50 kB", "path.rate": "5 Mbit/s"})
    short = {"rate": 5e6, "queue": 33}
    first = state(short, {"s1-eth2": (tbf(5e6, limit=33),)})
    told = GoalWatch([goal])
    told.take(first)
    assert told.board.goals[0].near is not None
    silent = GoalWatch([goal], broken=True)
    silent.take(first)
    assert silent.board.goals[0].near is None
    other = state({"rate": 40e6, "queue": 50_000}, {"s1-eth2": (tbf(40e6, limit=50_000),)})
    near = silent.take(other).goals[0].near
    assert near is not None
    assert near.kind == "bytes-for-bits"


def test_a_wrong_sysctl_is_fixed_by_its_original_value() -> None:
    stray = SysctlChange("h2", "tcp_window_scaling", "1", "0")
    watch = GoalWatch([asked("a", {"sysctl.h2.tcp_window_scaling": "1"})], broken=True)
    assert not watch.take(state(sysctls=(stray,))).done
    assert watch.take(state()).done
    assert not watch.take(state(sysctls=(stray,))).done
