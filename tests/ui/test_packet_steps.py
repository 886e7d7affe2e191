"""The packets of a run step by step: from the chart's cursor, event by event, or slowed down."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tcptutor.ui.frame import ShowApp
from tcptutor.ui.screens.packet_steps_screen import PacketStepsScreen

from .lives import ONE, stored
from .screen import text, until, until_text
from .test_sequence import traced


def view(app: ShowApp) -> PacketStepsScreen:
    assert isinstance(app.screen, PacketStepsScreen)
    return app.screen


async def open_steps(pilot: Pilot[None]) -> None:
    await until_text(pilot, "Mbit/s")
    await pilot.press("i")
    await until_text(pilot, "packets")
    await pilot.press("k")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_keys_go_from_event_to_event(size: tuple[int, int]) -> None:
    app = ShowApp(traced(), Path("a.tcprun"))
    async with app.run_test(size=size) as pilot:
        await open_steps(pilot)
        await until_text(pilot, "queued")
        began = view(app).t
        await pilot.press("left")
        assert view(app).t == pytest.approx(began - 0.1)
        await until_text(pilot, "An ACK for 10 segments.")
        await pilot.press("full_stop")
        assert view(app).t == began
        await pilot.press("j")
        assert view(app).t == 5.05
        await until_text(pilot, "takes bytes 731,240 to 732,687 for lost")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, PacketStepsScreen))
        assert "queued" not in text(app)


async def test_time_passes_slowed_down_until_it_is_paused() -> None:
    app = ShowApp(traced(), Path("a.tcprun"))
    async with app.run_test(size=(80, 24)) as pilot:
        await open_steps(pilot)
        await until_text(pilot, "paused, 1/10 of real time")
        began = view(app).t
        await pilot.press("space")
        await until(pilot, lambda: view(app).t > began + 0.02)
        await pilot.press("less_than_sign")
        await until_text(pilot, "▶ 1/100 of real time")
        await pilot.press("space")
        stopped = view(app).t
        await until_text(pilot, "paused, 1/100")
        assert view(app).t == stopped


async def test_a_run_without_a_trace_of_its_acks_has_no_packets() -> None:
    app = ShowApp(stored(ONE), Path("a.tcprun"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Mbit/s")
        await pilot.press("i")
        await until_text(pilot, "i close")
        assert "packets" not in text(app).splitlines()[-1]
        await pilot.press("k")
        assert not isinstance(app.screen, PacketStepsScreen)
