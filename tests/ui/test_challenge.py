"""A challenge on the screen: knobs turned by keys, runs judged, and all of it there again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from tcptutor.backends import replay
from tcptutor.course import load as load_course
from tcptutor.journal import Journal
from tcptutor.run import Fidelity, load
from tcptutor.spec import Experiment
from tcptutor.ui.app import TutorApp
from tcptutor.ui.widgets.page.challenge import ChallengeBox
from tcptutor.wire.protocol import Event

from .fakes import FakeLab
from .screen import keys, text, until, until_text

COURSE = load_course()
FULL = ("tcp-basics", "full-and-no-wait")
EIGHT = ("parallel-streams", "two-beat-eight")
ALIKE = ("pacing", "near-and-far-alike")


class RecordedLab(FakeLab):
    """Plays the recording of a challenge that has the knobs so, whatever its seed."""

    def __init__(self, page: tuple[str, str]) -> None:
        super().__init__()
        self.asked: list[Experiment] = []
        folder = replay.recordings_folder() / page[0] / page[1]
        self._runs = {path.stem: load(path) for path in folder.glob("*.tcprun")}

    async def run(self, experiment: Experiment) -> AsyncIterator[Event]:
        self.asked.append(experiment)
        self.plays = next(
            run
            for run in self._runs.values()
            if replay.same_experiment(
                msgspec.structs.replace(run.experiment, seed=experiment.seed), experiment
            )
        )
        async for event in super().run(experiment):
            yield event


@asynccontextmanager
async def opened(
    journal: Journal, page: tuple[str, str], lab: FakeLab, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Pilot[Any]]:
    journal.visit(*page)
    app = TutorApp(COURSE, journal, lambda: lab, module=page[0])
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: bool(app.screen.query("ChallengeBox")))
        yield pilot
        await app.bench.close()


async def ran(pilot: Pilot[Any], lab: FakeLab, number: int) -> None:
    await pilot.press("r")
    await until(pilot, lambda: lab.runs == number and not pilot.app.bench.busy)
    if pilot.app.screen.has_class("-chart-only"):  # one column
        await pilot.press("c")


async def test_a_challenge_is_reached_by_keys_alone(journal: Journal) -> None:
    lab = RecordedLab(FULL)
    async with opened(journal, FULL, lab) as pilot:
        challenge = pilot.app.screen.query_one(ChallengeBox).activity
        full_link, short_wait = (goal.text for goal in challenge.goals)
        explained = challenge.explanation.split(":")[0].strip()
        await pilot.press("tab")
        await until_text(pilot, "› window    400 kB")
        await until_text(pilot, "Par: 1 change; now 0 changes. r runs it.")
        await ran(pilot, lab, 1)
        await until_text(pilot, f"✓ {full_link}  100 %")
        await until_text(pilot, f"○ {short_wait}  168 ms")
        await until_text(pilot, "✗ Not yet. 1 of 2 to go.")
        assert explained not in text(pilot.app)
        await pilot.press("tab", *keys("900"), "enter")
        await until_text(pilot, "window: 900 kB is out of bounds: choose 5 kB to 400 kB")
        await pilot.press(*["backspace"] * 3, *keys("100"), "enter")
        await until_text(pilot, "› window  ● 100 kB  at first 400 kB")
        await until_text(pilot, "The signs are of the previous run")
        await ran(pilot, lab, 2)
        await until_text(pilot, f"✓ {short_wait}  41.8 ms")
        await until_text(pilot, "✓ Reached at par: 1 change.")
        await until_text(pilot, explained)
        assert [each.hosts.window for each in lab.asked] == [400_000, 100_000]
        assert lab.asked[0].seed != lab.asked[1].seed
    record = journal.page(*FULL).activity("challenge")
    assert (record.attempts, record.best) == (2, 1.0)
    assert journal.progress(COURSE)[FULL[0]].done == 1

    async with opened(journal, FULL, RecordedLab(FULL), (120, 50)) as pilot:
        pilot.app.screen.query_one(ChallengeBox).scroll_visible(animate=False)
        await until_text(pilot, "Reached at par: 1 change.")
        await until_text(pilot, "window  ● 100 kB")
        await until_text(pilot, "41.8 ms")
    assert journal.page(*FULL).activity("challenge").attempts == 2, "to look at it is no attempt"


async def test_what_is_relative_to_the_first_run_finds_it_again(journal: Journal) -> None:
    lab = RecordedLab(EIGHT)
    async with opened(journal, EIGHT, lab, (120, 50)) as pilot:
        await ran(pilot, lab, 1)
        await until_text(pilot, "Not yet.")
    lab = RecordedLab(EIGHT)
    async with opened(journal, EIGHT, lab, (120, 50)) as pilot:
        await until_text(pilot, "Not yet.")
        await pilot.press("tab", *keys("2"), "enter", "down", *keys("9000"), "enter")
        await until_text(pilot, "now 2 changes")
        await ran(pilot, lab, 1)
        await until_text(pilot, "✓ Reached at par: 2 changes.")


async def test_choices_are_turned_by_space_and_digits_and_put_back(journal: Journal) -> None:
    async with opened(journal, ALIKE, RecordedLab(ALIKE), (100, 40)) as pilot:
        await pilot.press("tab", "space")
        await until_text(pilot, "› qdisc    ● red")
        await pilot.press("3")
        await until_text(pilot, "› qdisc    ● codel")
        await pilot.press("backspace")
        await until_text(pilot, "› qdisc      fifo")
        await pilot.press("space", "down", "down", "enter", *keys("4.8"), "escape")
        await until_text(pilot, "now 1 change.")


async def test_a_run_that_the_lab_doubts_says_so_and_does_not_count(journal: Journal) -> None:
    lab = RecordedLab(FULL)
    lab.fidelity = Fidelity(status="suspect", reasons=["the host was busy"])
    async with opened(journal, FULL, lab) as pilot:
        await ran(pilot, lab, 1)
        await pilot.press("tab")
        await until_text(pilot, "this run is suspect and does not count: the host was busy")
    assert journal.page(*FULL).activity("challenge").attempts == 0


@pytest.mark.parametrize("page", [FULL, EIGHT, ALIKE])
async def test_the_solution_stands_nowhere_before_it_is_reached(
    journal: Journal, page: tuple[str, str]
) -> None:
    async with opened(journal, page, RecordedLab(page), (120, 200)) as pilot:
        box = pilot.app.screen.query_one(ChallengeBox)
        assert box.activity.explanation.split("\n", 1)[0] not in text(pilot.app)
        assert not box.activity.changed_knobs(box.values)
        for value in box.activity.changed_knobs(
            box.activity.values(box.activity.solution_experiment)
        ).values():
            assert f"● {value}" not in text(pilot.app)
