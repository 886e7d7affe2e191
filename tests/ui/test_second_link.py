"""Two bottlenecks in a row on the panel: both queues with what they dropped, and the hosts at each switch."""

from __future__ import annotations

import pytest

from tcptutor.course.activities.run import RunActivity
from tcptutor.run import Run
from tests.analysis.synthetic import experiment, run_of, with_queue

from .lives import live_of, screen
from .made import MODULE, one_page
from .screen import text, until_text

ASKED = {"second_rate": "20 Mbit/s", "second_delay": "10 ms", "queue": "100 kB", "second_queue": "50 kB"}


def row(until: float | None = None) -> Run:
    made = experiment(pairs=3, crosses="both, first, second", **ASKED)
    run = with_queue(run_of(made, 5e6, 40e6, 10e6, until=until), drops=lambda t: int(t), waiting=20_000)
    run.queue_second = with_queue(run, drops=lambda t: int(t > 3) * 7, waiting=48_000).queue
    return with_queue(run, drops=lambda t: int(t), waiting=20_000)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_line_of_the_network_has_both_queues_and_all_switches(width: int) -> None:
    shown = screen(live_of(row(until=5.0), "running"), width, 40)
    (line,) = [each for each in shown if " s1 " in each and " s2 " in each]
    assert (
        line.index("▶h1▶h3 s1")
        < line.index("▼5 ")
        < line.index("h4 ▶h5 s2")
        < line.index("▼7 ")
        < line.index("s3")
    )
    assert "s3 h2 h6" in line


def test_each_queue_has_a_strip_with_its_own_size() -> None:
    shown = screen(live_of(row()), 120, 40)
    first, second = (
        next(each for each in shown if each.lstrip().startswith(name)) for name in ("at s1", "at s2")
    )
    assert "20   most" in first
    assert "48   most" in second


@pytest.mark.usefixtures("without_state")
async def test_a_page_of_two_bottlenecks_has_no_terminal(make_app) -> None:
    made = experiment(pairs=3, crosses="both, first, second", **ASKED)
    app = make_app(MODULE, of=one_page(RunActivity(name="test/row", experiment=made)))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until_text(pilot, "Read this.")
        await pilot.press("n")
        await until_text(pilot, "s3-eth1")
        await pilot.press("escape")
        await until_text(pilot, "Read this.")
        assert "terminal" not in text(app)
        await pilot.press("t")
        await pilot.pause()
        assert not app.bench.session.in_progress
        await app.bench.close()
