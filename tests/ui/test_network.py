"""The network of a page: one key shows it, and it follows the kernel while a session is open."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tcptutor.course import Course, Module, load
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.step import Step
from tcptutor.figures.kinds.network import NetworkFigure, of_experiment
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.dialogs import NetworkScreen
from tcptutor.ui.widgets.prose.network import NetworkView
from tests.course.conftest import EXAMPLES
from tests.course.goals.made import netem, state

from .made import MODULE, one_page
from .screen import text, until, until_text

pytestmark = pytest.mark.usefixtures("without_state")
FIRST = next(shell for step in load(EXAMPLES).modules[2].steps if (shell := step.shell))
PAGE = ShellActivity(name="", experiment=FIRST.experiment, hosts=("s1", "h1"), goals=FIRST.goals[:2])
DELAYED = state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)})


def with_figure(page: ShellActivity) -> Course:
    """A course of one page, whose text has a figure of its network."""
    course = one_page(page)
    own = of_experiment(page.experiment, NetworkFigure(id="lab", experiment=""))
    step = replace(course.modules[0].steps[0], prose="![](figure:lab)", figures=(own,))
    return replace_steps(course, step)


def replace_steps(course: Course, *steps: Step) -> Course:
    module = course.modules[0]
    return Course(
        title=course.title,
        modules=(Module(id=module.id, number=1, title=module.title, objectives=(), sources=(), steps=steps),),
    )


def drawn(app: TutorApp) -> str:
    return "\n".join("\n".join(view.lines) for view in app.screen.query(NetworkView))


async def test_a_key_shows_the_network_of_a_page(make_app) -> None:
    app = make_app(MODULE, of=one_page(PAGE))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Reach these goals")
        await pilot.press("n")
        await until(pilot, lambda: "s2-eth1" in drawn(app))
        assert isinstance(app.screen, NetworkScreen)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, NetworkScreen))
        await app.bench.close()


async def test_the_network_follows_the_kernel_with_the_interface_of_an_open_goal_marked(
    make_app, lab
) -> None:
    goal = replace(FIRST.goals[0], interface="s1-eth2")
    app = make_app(MODULE, of=one_page(replace(PAGE, goals=(goal, FIRST.goals[1]))))
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "Reach these goals")
        await pilot.press("t")
        await until_text(pilot, "s1:~#")
        lab.hands.tell(state())
        await pilot.press("f6", "n")
        await until(pilot, lambda: "▸s1-eth2" in drawn(app))
        assert "delay 20 ms" not in drawn(app)
        lab.hands.tell(DELAYED)
        await until(pilot, lambda: "delay 20 ms" in drawn(app))
        await pilot.press("escape")
        await app.bench.close()


async def test_a_figure_in_the_text_follows_the_kernel(make_app, lab) -> None:
    app = make_app(MODULE, of=with_figure(PAGE))
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "no delay, loss or rate is set" in drawn(app))
        await pilot.press("t")
        await until_text(pilot, "s1:~#")
        lab.hands.tell(DELAYED)
        await until(pilot, lambda: "delay 20 ms" in drawn(app))
        await pilot.press("f6", "T")
        await until(pilot, lambda: "no delay, loss or rate is set" in drawn(app))
        await app.bench.close()


async def test_a_page_without_a_network_says_so(make_app) -> None:
    app = make_app(MODULE, of=one_page())
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until_text(pilot, "Read this.")
        await pilot.press("n")
        await until_text(pilot, "This page has no network.")
        await app.bench.close()


async def test_a_hidden_fault_stays_hidden(make_app, lab) -> None:
    goal = replace(FIRST.goals[0], interface="s1-eth2")
    broken = replace(PAGE, goals=(goal,), fault="small-bucket")
    app = make_app(MODULE, of=one_page(broken))
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "Reach these goals")
        await pilot.press("t")
        await until_text(pilot, "s1:~#")
        lab.hands.tell(state({"delay": 0.3}, {"s1-eth2": (netem(delay=0.3),)}))
        await pilot.press("f6", "n")
        await until(pilot, lambda: "s1-eth2" in drawn(app))
        await pilot.pause(1)
        assert "300 ms" not in drawn(app)
        assert "▸" not in drawn(app), "a goal's interface says where the fault is"
        assert "300 ms" not in text(app)
        await pilot.press("escape")
        await app.bench.close()
