"""Where experiments run, in words: of the machine on the first screen, of a page's run above that page."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor.journal import Journal
from tcptutor.run import Environment
from tcptutor.study.lab_state import LabState, place
from tests.ui.fakes import GUEST
from tests.ui.screen import text, until, until_text
from tests.ui.test_again import opened, run

HOST = Environment(
    backend="host", clock="real", kernel="6.12", reason="this machine's kernel has all it takes"
)
REPLAY = Environment(backend="replay", clock="recorded", kernel="", reason="there is no lab")


@pytest.mark.parametrize(
    ("environment", "header", "sentence"),
    [
        (GUEST, "virtual machine · ready", "Experiments run in a virtual machine. Ready."),
        (
            msgspec.structs.replace(GUEST, clock="real"),
            "virtual machine, real time · ready",
            "Experiments run in a virtual machine, in real time. Ready.",
        ),
        (
            HOST,
            "this computer, real time · ready",
            "Experiments run on this computer's own Linux kernel, in real time. Ready.",
        ),
        (REPLAY, "replay of a recorded run · ready", "Experiments are replayed from recordings."),
    ],
)
def test_each_lab_is_named_in_plain_words(environment: Environment, header: str, sentence: str) -> None:
    state = LabState("ready", environment)
    assert state.headline() == header
    assert state.sentence == sentence
    assert not {"guest", "clock", "host"} & set(f"{header} {sentence}".split())


async def test_a_page_names_the_lab_of_its_own_run_and_the_first_screen_the_machine(
    make_app, journal: Journal
) -> None:
    """The header named the lab of the page before, and the first screen that of the last run."""
    async with opened(make_app, journal) as pilot:
        app = pilot.app
        live = await run(pilot, "r")
        live.run.environment = HOST
        # Another run moved the lab meanwhile, elsewhere.
        app.bench._set_state(LabState("ready", msgspec.structs.replace(GUEST, clock="real")))
        await until_text(pilot, f"{place(HOST)} · ready")
        await pilot.press("m")
        await until_text(pilot, "Experiments run in a virtual machine. Ready.")
        assert "this computer" not in text(app)


async def test_a_lab_that_is_gone_is_told_on_the_first_screen(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "Experiments run in a virtual machine. Ready.")
        app.bench._set_state(LabState("none", problem="QEMU is gone"))
        await until_text(pilot, "No experiment can run here.")
        await until_text(pilot, "QEMU is gone")
        app.bench._set_state(LabState("starting"))
        app.bench._set_state(LabState("ready", HOST))
        await until(pilot, lambda: "own Linux kernel, in real time. Ready." in text(app))
