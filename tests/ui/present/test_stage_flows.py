"""The room experiment on the stage."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor.room.talk import AlgorithmTotal, FlowBar, FlowsView
from tcptutor.ui.present import large_text
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_flows import draw_flows
from tcptutor.ui.widgets.chart.chart import flow_style

SIZES = [(80, 24), (78, 18), (120, 36), (118, 28), (200, 50)]
RATES = {"reno": 0.4e6, "cubic": 0.6e6, "bbr": 3e6}


def experiment(
    flows: int, *, voters: int = 1, state: str = "ended", algorithms: tuple[str, ...] = tuple(RATES)
) -> FlowsView:
    """Flows of each algorithm, each with a rate of its own; none before the run."""
    rates = {name: RATES.get(name, 1e6) if state != "ready" else 0.0 for name in algorithms}
    bars = [
        FlowBar(algorithm=name, voters=voters, bps=rate) for name, rate in rates.items() for _ in range(flows)
    ]
    totals = [
        AlgorithmTotal(algorithm=name, flows=flows, voters=voters * flows, bps=flows * rate)
        for name, rate in rates.items()
    ]
    return FlowsView(
        state=state,  # type: ignore[arg-type]
        flows=tuple(bars),
        totals=tuple(totals),
        offered=tuple(algorithms),
        link_bps=4e6 * flows,
        fair_bps=1.3e6,
        jain_index=0.5 if state != "ready" else None,
        t=4.2,
        seconds=12,
        warmup=2,
    )


def drawn(view: FlowsView, size: tuple[int, int]) -> str:
    canvas = StageCanvas(*size)
    draw_flows(canvas, view, "live")
    return "\n".join("".join(text for text, _ in line.pieces()) for line in canvas.lines())


def _cells(canvas: StageCanvas, style: str) -> set[tuple[int, int]]:
    return {
        (column, row)
        for row in range(canvas.height)
        for column in range(canvas.width)
        if canvas.at(column, row)[1] == style and canvas.at(column, row)[0] != " "
    }


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("flows", [1, 2, 7, 21])
def test_a_faster_flow_has_a_higher_bar(size: tuple[int, int], flows: int) -> None:
    canvas = StageCanvas(*size)
    draw_flows(canvas, experiment(flows), "live")
    bars = [
        len({row for _, row in _cells(canvas, flow_style(number)) if row > 8}) for number in range(len(RATES))
    ]
    assert bars == sorted(bars)
    assert 0 < bars[0] < bars[-1]


@pytest.mark.parametrize("size", SIZES)
def test_shares_are_at_least_three_cells_high(size: tuple[int, int]) -> None:
    text = drawn((experiment(10)), size)
    for share in ("10 %", "15 %", "75 %"):
        sizes = [large_text.draw(share, large) for large in (5, 3)]
        assert any(all(row.rstrip() in text for row in rows) for rows in sizes)
    assert "equal share" in text
    assert "fairness 0.50" in text


def test_a_flow_beyond_the_axis_is_marked() -> None:
    view = experiment(10)
    fast = msgspec.structs.replace(view.flows[-1], bps=50e6)
    canvas = StageCanvas(118, 28)
    draw_flows(canvas, msgspec.structs.replace(view, flows=(*view.flows[:-1], fast)), "live")
    cells = [canvas.at(column, row)[0] for column in range(118) for row in range(28)]
    assert cells.count("▲") == 1
    assert "fastest 50 Mbit/s" in "".join(canvas.at(column, 27)[0] for column in range(118))


def test_an_algorithm_keeps_its_color_when_nobody_picks_another() -> None:
    view = experiment(4)
    bbr = msgspec.structs.replace(view, flows=view.flows[-4:], totals=view.totals[-1:])
    for each in (view, bbr):
        canvas = StageCanvas(118, 28)
        draw_flows(canvas, each, "live")
        names = "".join(canvas.at(column, 0)[0] for column in range(118))
        column = names.index("BBR")
        assert canvas.at(column, 0)[1] == flow_style(2)


def test_before_the_run_nothing_is_measured() -> None:
    text = drawn((experiment(10, state="ready")), (120, 36))
    assert "%" not in text
    assert "fairness" not in text


def test_sharing_is_said() -> None:
    assert "60 students share 30 flows" in drawn((experiment(10, voters=2)), (120, 36))
    assert "share 30" not in drawn((experiment(10)), (120, 36))


@pytest.mark.parametrize("size", [(10, 3), (20, 8), (40, 12)])
def test_many_algorithms_and_little_space_do_no_harm(size: tuple[int, int]) -> None:
    view = experiment(8, algorithms=("reno", "cubic", "bbr", "htcp", "vegas", "westwood", "illinois", "yeah"))
    drawn((view), size)


@pytest.mark.parametrize("size", SIZES)
def test_a_second_run_is_compared_with_the_first(size: tuple[int, int]) -> None:
    first, second = experiment(10), experiment(5)
    bbr = [total for total in second.totals if total.algorithm == "bbr"]
    moved = msgspec.structs.replace(bbr[0], flows=15, bps=15 * 1.2e6)
    now = msgspec.structs.replace(
        second,
        totals=(moved,),
        flows=(FlowBar(algorithm="bbr", voters=1, bps=1.2e6),) * 15,
        earlier=first.totals,
    )
    text = drawn(now, size)
    large = [row.rstrip() for row in large_text.draw("3 → 1.2 Mbit/s", 2)]
    assert "3 → 1.2 Mbit/s" in text or all(row in text for row in large)
    # Reno is nobody's choice any more.
    assert "Reno, 10 → 0" in text
    waiting = drawn(msgspec.structs.replace(now, state="ready"), size)
    assert "→ 1.2 Mbit/s" not in waiting
