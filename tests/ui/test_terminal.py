"""A terminal in a page: opened, typed into, left and ended, and what comes of it in the chart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual import events
from textual.pilot import Pilot

from tcptutor.course.outline import Course
from tcptutor.journal import Journal
from tcptutor.run import Fidelity, Finished, load
from tcptutor.spec import build
from tcptutor.ui.app import TutorApp
from tcptutor.ui.widgets.panel.result import status_pieces
from tcptutor.ui.widgets.terminal.pane import TerminalPane
from tcptutor.wire.kernel_state import InterfaceState, SessionState
from tcptutor.wire.protocol import Failed, HomeFile, HomeFiles
from tests.course.goals.made import netem

from .fakes import FakeLab, FakeSession, recorded
from .made import MODULE, lossy, one_page
from .screen import keys, settled, text, until, until_text

STEP = ("one-flow", "one-lossy-flow")
pytestmark = pytest.mark.usefixtures("without_state")


@asynccontextmanager
async def on_page(make_app, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot]:
    app: TutorApp = make_app("one-flow")
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.press("]")
        await until_text(pilot, "One lossy flow")
        yield pilot
        await app.bench.close()


@asynccontextmanager
async def opened(
    make_app, lab: FakeLab, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[Pilot, FakeSession]]:
    async with on_page(make_app, size) as pilot:
        await pilot.press("t")
        await until_text(pilot, "h1:~#")
        assert lab.hands is not None
        yield pilot, lab.hands


async def test_what_is_typed_goes_to_the_shell_and_what_it_says_is_shown(make_app, lab) -> None:
    async with opened(make_app, lab) as (pilot, hands):
        for key in (
            *keys("ping h2"),
            "enter",
            "ctrl+c",
            "up",
            "tab",
            "q",
            "ctrl+q",
            "question_mark",
            "escape",
        ):
            await pilot.press(key)
        shell = hands.shells["h1"]
        await until(pilot, lambda: shell.typed == b"ping h2\r\x03\x1b[A\tq\x11?\x1b")
        shell.says("\x1b[H\x1b[J\x1b[31mPING\x1b[0m h2 \x1b]0;title\x07\x1b[2;5Hthere")
        await until_text(pilot, "there")
        assert "title" not in text(pilot.app)
        shell.says("\x1b[?1h\x1b[?2004h\r\nready\x1b[6n")
        await until_text(pilot, "ready")
        assert shell.typed.endswith(b"\x1b[3;6R"), "what the terminal is asked, it answers"
        pilot.app.post_message(events.Paste("one\ntwo"))
        await until(pilot, lambda: shell.typed.endswith(b"\x1b[200~one\rtwo\x1b[201~"))
        await pilot.press("up")
        await until(pilot, lambda: shell.typed.endswith(b"\x1bOA"))
        assert "One lossy flow" in text(pilot.app), "the page stands beside it"


async def test_one_key_leads_to_the_page_and_back(make_app, lab) -> None:
    async with opened(make_app, lab) as (pilot, hands):
        assert "F6 page" in text(pilot.app)
        await pilot.press("f6", "2", "f6", "l", "s")
        await until(pilot, lambda: hands.shells["h1"].typed == b"ls")
        await pilot.press("f6")
        await until_text(pilot, "F6 terminal")
        await pilot.press("[")
        await until_text(pilot, "What cwnd is")
        await until_text(pilot, "T close terminal")
        await pilot.press("]")
        await until_text(pilot, "h1:~#")
        await pilot.press("f6", "x")
        await until(pilot, lambda: hands.shells["h1"].typed == b"lsx")


async def test_hosts_are_tabs_and_the_last_shell_that_ends_ends_the_session(make_app, lab) -> None:
    async with opened(make_app, lab) as (pilot, hands):
        await until_text(pilot, "[h1] h2  s1  s2")
        await pilot.press("f8")
        await until_text(pilot, "h2:~#")
        await pilot.press("f7", "f7")
        await until_text(pilot, "s2:~#")
        await pilot.press("a")
        await until(pilot, lambda: hands.shells["s2"].typed == b"a")
        hands.shells["s2"].ends()
        await until_text(pilot, "[h1] h2* s1  s2")
        hands.shells["h1"].ends()
        await until_text(pilot, " h1 [h2] s1  s2")
        assert lab.sessions_left == 0
        hands.shells["h2"].ends()
        await until(pilot, lambda: lab.sessions_left == 1)
        await until_text(pilot, "100 Mbit/s")
        await until(pilot, lambda: "F6" not in text(pilot.app))
        await pilot.press("t")
        await until_text(pilot, "h1:~#")


@pytest.mark.parametrize("size", [(80, 24), (100, 24), (120, 40)])
async def test_the_shell_has_the_size_of_its_place(make_app, lab, size) -> None:
    async with opened(make_app, lab, size) as (pilot, hands):
        shell = hands.shells["h1"]
        wanted = {(80, 24): (21, 80), (100, 24): (20, 65), (120, 40): (20, 78)}
        await until(pilot, lambda: shell.size == wanted[size])
        beside = "Commit to a number" in text(pilot.app)
        assert beside == (size[0] >= 100), "where it is narrow it stands over the page"
        await pilot.press("f6")
        await until_text(pilot, "F6 terminal")
        await until_text(pilot, "Commit to a number")
        await pilot.press("f6")
        await until_text(pilot, "h1:~#")
        await pilot.resize_terminal(140, 40)
        await until(pilot, lambda: shell.size[1] > 80)


async def test_what_is_sent_is_drawn_and_explained_and_is_no_run_of_the_page(
    make_app, lab, journal: Journal
) -> None:
    run = recorded(make_app("one-flow").course.modules[0].steps[1].experiments[0])
    # What is found lasts as long as it has lasted.
    flows = replace(run.experiment.flows, duration=0.05, warmup=0.0)
    run.experiment = replace(run.experiment, flows=flows)
    async with opened(make_app, lab) as (pilot, hands):
        await hands.plays(run, 12.0)
        await until_text(pilot, "started by hand")
        await until_text(pilot, "▶ 12 s")
        whole = replace(run.experiment, flows=replace(flows, duration=12.0))
        hands.tell(SessionState(whole))
        hands.tell(Finished(tuple(run.flows), Fidelity(status="valid"), 12.0))
        await until_text(pilot, "why: ")
        await until_text(pilot, "measured 22.1 Mbit/s")
        live = pilot.app.bench.session.live
        assert (
            "".join(text for text, _ in status_pieces(live))
            == f"✓ 12 s, started by hand; saved as {live.run.id}"
        )
        await pilot.press("f6")
        assert "The formula says" not in text(pilot.app), "what the page asks is about its own run"
    assert journal.page(*STEP).runs == 0
    (file,) = (journal.runs.folder or Path()).glob("*.tcprun")
    assert load(file).complete


async def test_a_setting_that_was_changed_is_in_the_drawing_of_the_network(make_app, lab) -> None:
    async with opened(make_app, lab) as (pilot, hands):
        experiment = hands.session.experiment
        held = InterfaceState("s1-eth2", (netem(delay=0.08),))
        hands.tell(SessionState(replace(experiment, path=replace(experiment.path, delay=0.08)), (held,)))
        await until_text(pilot, "delay 80 ms")


async def test_a_run_of_the_page_and_a_terminal_exclude_each_other(make_app, lab) -> None:
    lab.hold_at = 3.0
    async with on_page(make_app) as pilot:
        await pilot.press("x", "y")
        await until_text(pilot, "▶ 3 of 22 s")
        await pilot.press("t")
        await until_text(pilot, "A run is in progress: s stops it")
        assert lab.hands is None
        await pilot.press("s")
        await until(pilot, lambda: lab.stopped == 1)
        await pilot.press("t")
        await until_text(pilot, "h1:~#")
        await pilot.press("f6", "r")
        await until_text(pilot, "The terminal is open: press T to close it.")
        assert lab.runs == 1
        await pilot.press("T")
        await until(pilot, lambda: lab.sessions_left == 1)
        lab.hold_at = None
        await pilot.press("r")
        await until_text(pilot, "✓ done")


async def test_a_terminal_left_open_is_named_on_other_pages_and_ended_from_there(make_app, lab) -> None:
    (module,) = one_page(lossy()).modules
    second = replace(module.steps[0], id="second", title="A second page")
    course = Course(title="Two pages", modules=(replace(module, steps=(*module.steps, second)),))
    app = make_app(MODULE, of=course)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "A page")
        await pilot.press("t")
        await until_text(pilot, "h1:~#")
        await pilot.press("f6", "]")
        await until_text(pilot, "A second page")
        await until_text(pilot, "The terminal of another page is open: T closes it, then r runs.")
        assert "T close terminal" in text(app)
        await pilot.press("r")
        await until_text(pilot, "Close the terminal of the other page?")
        assert lab.runs == 0
        await pilot.press("y")
        await until(pilot, lambda: lab.sessions_left == 1)
        await until(pilot, lambda: "The terminal of another page is open" not in text(app))
        await app.bench.close()


async def test_what_cannot_be_opened_is_one_line(make_app, lab) -> None:
    lab.no_session = "this machine has no terminal to give: tcptutor setup"
    async with on_page(make_app) as pilot:
        await pilot.press("t")
        await until_text(pilot, "this machine has no terminal to give")
        await pilot.press("[")
        await until_text(pilot, "What cwnd is")
        assert "t terminal" not in text(pilot.app)
        await pilot.press("t")
        assert not pilot.app.bench.session.in_progress


async def test_a_lab_that_dies_under_it_is_one_line_and_the_next_is_fresh(make_app, lab, journal) -> None:
    run = recorded(make_app("one-flow").course.modules[0].steps[1].experiments[0])
    async with opened(make_app, lab) as (pilot, hands):
        await hands.plays(run, 4.0)
        await until_text(pilot, "▶ 4 s")
        await pilot.press("f6", "[")
        await until_text(pilot, "What cwnd is")
        hands.tell(Failed("the guest ended: open it again"))
        await until_text(pilot, "the guest ended: open it again")
        await pilot.press("]")
        await until(pilot, lambda: lab.sessions_left == 1)
        (file,) = (journal.runs.folder or Path()).glob("*.tcprun")
        assert not load(file).complete
        await pilot.press("t")
        await until(pilot, lambda: lab.hands is not hands and "h1" in lab.hands.shells)
        await until_text(pilot, "h1:~#")


async def test_a_lab_that_takes_long_to_start_can_be_given_up(make_app, lab) -> None:
    lab.session_waits = asyncio.Event()
    async with on_page(make_app) as pilot:
        await pilot.press("t")
        await until_text(pilot, "the lab is starting for the terminal")
        await pilot.press("f6", "T")
        await until(pilot, lambda: not pilot.app.bench.session.in_progress)
        await until_text(pilot, "t terminal")


async def test_keys_typed_while_the_lab_starts_reach_their_prompts_in_order(make_app, lab) -> None:
    lab.session_waits = asyncio.Event()
    async with on_page(make_app) as pilot:
        await pilot.press("t")
        await until_text(pilot, "the lab is starting for the terminal")
        await pilot.press(*keys("ping h2"), "enter", "f8", *keys("ss"))
        pilot.app.post_message(events.Paste(" -ti\n"))
        await until_text(pilot, "your keys wait for the prompt")
        assert "One lossy flow" in text(pilot.app), "no key was the page's"
        lab.session_waits.set()
        await until(pilot, lambda: lab.hands is not None and {"h1", "h2"} <= set(lab.hands.shells))
        await until(pilot, lambda: lab.hands.shells["h2"].typed == b"ss -ti\r")
        assert lab.hands.shells["h1"].typed == b"ping h2\r"
        await pilot.press("w")
        await until(pilot, lambda: lab.hands.shells["h2"].typed == b"ss -ti\rw")
        # A terminal given up before its lab was there leaves nothing for the next.
        await pilot.press("f6", "T")
        await until(pilot, lambda: not pilot.app.bench.session.in_progress)
        lab.session_waits.clear()
        await pilot.press("t", "x", "f6", "T")
        await until(pilot, lambda: not pilot.app.bench.session.in_progress)
        lab.session_waits.set()
        await pilot.press("t")
        await until(pilot, lambda: lab.sessions_left == 1 and "h1" in lab.hands.shells)
        await until_text(pilot, "h1:~#")
        assert lab.hands.shells["h1"].typed == b""


async def test_a_flood_is_read_in_bounded_pieces_and_keys_are_answered(make_app, lab) -> None:
    async with opened(make_app, lab) as (pilot, hands):
        for _ in range(200):
            hands.shells["h1"].says((b"y" * 60 + b"\r\n") * 250)
        await until_text(pilot, "yyyy\n")
        await pilot.press("f6", "[")
        await until_text(pilot, "What cwnd is")
        await pilot.press("]", "f6")
        hands.shells["h1"].says("\x1b[?2004hthe end")
        await until_text(pilot, "the end")
        screen = pilot.app.screen.query_one(TerminalPane).shell.screen
        shown = [
            "".join(text for text, _ in screen.row(0, back)).strip() for back in range(len(screen.history))
        ]
        assert any(line.endswith("bytes are not drawn]") for line in shown), "what is left out is said"


async def test_what_nobody_reads_waits_in_the_lab(lab, tmp_path) -> None:
    hands = FakeSession(build("by-hand", {"parameters": {}}), tmp_path)
    await hands.session.begin()
    terminal = hands.session.shell("h1")
    assert await terminal.read() == b"h1:~# "
    for _ in range(100):
        hands.shells["h1"].says(b"y\r\n" * 5000)
    await asyncio.sleep(0.1)
    assert hands.waiting > 90
    read = 0
    while read < 100 * 15_000:
        data = await terminal.read()
        assert len(data) <= 2 * 65_536
        read += len(data)
    hands.shells["h1"].ends()
    assert await terminal.read() == b""
    for _ in range(100):
        hands.shells["h1"].says(b"y\r\n" * 5000)
    await hands.session.leave()


async def test_what_scrolled_off_comes_back_with_the_wheel(make_app, lab) -> None:
    async with opened(make_app, lab) as (pilot, hands):
        shell = hands.shells["h1"]
        shell.says("".join(f"line {number}\r\n" for number in range(100)))
        await until_text(pilot, "line 99")
        pane = pilot.app.screen.query_one(TerminalPane)
        for _ in range(10):
            pane.post_message(events.MouseScrollUp(pane, 1, 1, 0, 0, 0, False, False, False))
        await until_text(pilot, "line 55")
        shell.says("more\r\n")
        await settled(pilot)
        assert "line 55" in text(pilot.app), "what is being read stays"
        await pilot.press("a")
        await until_text(pilot, "more")
        shell.says("\x1b[?1049h\x1b[Hless")
        await until_text(pilot, "less")
        pane.post_message(events.MouseScrollDown(pane, 1, 1, 0, 0, 0, False, False, False))
        await until(pilot, lambda: shell.typed.endswith(b"\x1b[B\x1b[B\x1b[B"))


async def test_closing_the_app_keeps_what_goes_on_and_the_files_of_home(
    make_app, lab, journal, without_state
) -> None:
    run = recorded(make_app("one-flow").course.modules[0].steps[1].experiments[0])
    async with opened(make_app, lab) as (pilot, hands):
        await hands.plays(run, 5.0)
        await until_text(pilot, "▶ 5 s")
        hands.tell(HomeFile("notes", b"what I did\n"))
        hands.tell(HomeFiles(("notes",)))
    assert lab.sessions_left == 1
    (file,) = (journal.runs.folder or Path()).glob("*.tcprun")
    kept = load(file)
    assert (kept.complete, kept.sampled_until) == (False, pytest.approx(5.0, abs=0.3))
    assert (without_state / "tcptutor" / "home" / "notes").read_text() == "what I did\n"
