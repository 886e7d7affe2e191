"""A page with a broken network: the app opens it broken, and shows nothing of what is wrong."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor.course import load
from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.activities.shell import TELLTALES
from tcptutor.run import Fidelity, Finished
from tcptutor.spec import build
from tcptutor.wire.kernel_state import SessionState
from tests.course.goals.made import netem, state

from .fakes import recorded
from .made import MODULE, one_page
from .screen import text, until, until_text
from .test_goals import PAGE

pytestmark = pytest.mark.usefixtures("without_state")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_terminal_opens_the_network_with_its_fault(make_app, lab, size) -> None:
    app = make_app("broken-labs", of=load())
    async with app.run_test(size=size, notifications=True) as pilot:
        await until_text(pilot, "Five questions on faults")
        for title in ("How to look", "Twice as long"):
            await pilot.press("]")
            await until_text(pilot, title)
        await pilot.press("t")
        await until_text(pilot, "h1:~#")
        assert lab.trap == "late-acks"
        assert "ACKs were delayed" not in text(app)
        if size[0] < 100:
            # The figure next to a wide terminal names all interfaces.
            assert TELLTALES["late-acks"].search(text(app)) is None
        app.bench.session.state = SessionState(build("held", {"parameters": {"reverse_delay": "60 ms"}}))
        network = app.bench.session.network
        assert network is not None
        assert network.path.reverse_delay == 0, "what is drawn is the network as it should be"
        # What is sent over it is drawn with what it should be, and nothing says why until it is mended.
        run = recorded(build("one-flow/lossy", {}))
        await lab.hands.plays(run, 10.0)
        lab.hands.tell(
            Finished(tuple(run.flows), Fidelity(status="suspect", reasons=("the sender was capped",)), 10.0)
        )
        await until(
            pilot, lambda: app.bench.session.live is not None and not app.bench.session.live.in_progress
        )
        live = app.bench.session.live
        assert live is not None
        assert live.run.experiment.path == network.path
        assert (live.hides_fault, live.report) == (True, None)
        assert app.screen.what_if_base is None
        if size[0] >= 100:
            await until_text(pilot, "finding the fault is your task")
        assert "capped" not in text(app)
        await app.bench.close()


CAUSE = SingleChoice(
    id="cause",
    prompt="What was wrong?",
    choices=tuple(
        Alternative(text=text, correct=text == "The burst", feedback="Look at tbf.")
        for text in ("The burst", "The rate", "The delay")
    ),
)


async def test_the_causes_to_choose_from_are_shown_after_the_repair(make_app, lab) -> None:
    broken = msgspec.structs.replace(PAGE, goals=PAGE.goals[:1], fault="small-bucket")
    app = make_app(MODULE, of=one_page(broken, CAUSE))
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "Question  Asked when the goals are reached: t opens the terminal.")
        assert "The burst" not in text(app)
        await pilot.press("t")
        await until_text(pilot, "s1:~#")
        lab.hands.tell(state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)}))
        await until_text(pilot, "The burst")
        assert "Asked when" not in text(app)
        await app.bench.close()
