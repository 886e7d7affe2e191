"""The chart: what a student may conclude from it, at the sizes of real terminals."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import pytest

from tcptutor.figures.braille import Layer
from tcptutor.figures.lines import RTT, Line
from tcptutor.run import SampleTable, UdpResult, UdpSample, UdpTable
from tcptutor.ui.widgets.chart import axes, chart, strips, trace, warmup
from tcptutor.ui.widgets.chart.scene import OwnPrediction, Scene

from .lives import EIGHT, FOUR, ONE, WINDOW, ended, going, live_of, scene, screen, stored, words

OWN = OwnPrediction("12 Mbit/s", 12e6)


def rows(lines: list[str]) -> int:
    """Lines of the chart itself: those with its axis."""
    return sum(len(line) > axes.GUTTER and line[axes.GUTTER - 1] in "┤│" for line in lines)


def styles(shown: Scene, width: int = 78, height: int = 12) -> set[str]:
    lines = chart.render(shown, width, height, False)
    return {warmup.base_style(style) for line in lines for style in line.styles}


@pytest.mark.parametrize("name", [ONE, FOUR, EIGHT, WINDOW, "bbr-loss", "timeouts"])
def test_a_finished_run_leaves_the_chart_eight_lines_at_80_by_24(name: str) -> None:
    lines = screen(ended(name), own=OWN)
    assert len(lines) == 22
    assert rows(lines) >= 8
    told = "\n".join(lines)
    assert "why: " in told
    assert "▲ " in told or " ▲" in told
    assert max(map(len, lines)) <= 78


@pytest.mark.parametrize("name", [ONE, FOUR, EIGHT])
def test_a_run_that_goes_on_leaves_it_ten(name: str) -> None:
    lines = screen(going(name, 8.0), own=OWN)
    assert rows(lines) >= 10
    assert len(lines) == 22


@pytest.mark.parametrize("size", [(40, 5), (62, 15), (78, 22), (64, 33), (110, 47), (196, 60), (78, 10)])
@pytest.mark.parametrize("name", [ONE, EIGHT])
def test_it_fills_whatever_it_is_given(name: str, size: tuple[int, int]) -> None:
    for live in (ended(name), going(name, 7.0), going(name, 0.1)):
        lines = screen(live, *size, own=OWN)
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]


def test_each_of_eight_flows_is_seen_and_named() -> None:
    shown = scene(ended(EIGHT))
    lines = chart.render(shown, 78, 9, False)
    seen = [
        warmup.base_style(style)
        for line in lines
        for style in line.part(axes.GUTTER, 78 - axes.MARGIN).styles
    ]
    for number in range(8):
        assert seen.count(chart.flow_style(number)) >= 8, f"cells of flow {number + 1}"
    beside = [line.text[78 - axes.MARGIN :] for line in lines]
    for number in range(1, 9):
        assert any(re.search(rf" {number} \d+ %", text) for text in beside)


def test_more_flows_than_can_be_told_apart_are_a_band_with_one_of_them() -> None:
    whole = stored(EIGHT)
    more = [msgspec.structs.replace(row, flow=row.flow + 8) for row in whole.samples]
    run = msgspec.structs.replace(whole, samples=SampleTable([*whole.samples, *more]))
    shown = scene(live_of(run))
    assert shown.band is not None
    assert len(shown.curves) == 1
    assert {"band", "flow-1"} <= styles(shown)
    assert "all 16" in chart.title(shown, 78).text


def test_limits_expectation_mean_and_own_prediction_have_their_lines_and_names() -> None:
    shown = scene(ended(ONE), OWN)
    assert {"expected", "mean", "you", "flow-1"} <= styles(shown)
    text = " ".join(words(line) for line in chart.render(shown, 78, 12, False))
    for name in ("40.2 expected", "39.1 measured", "you"):
        assert name in text
    title = chart.title(scene(ended(FOUR)), 100).text
    assert "expected mean 40.2" in title
    assert "measured mean 39.1" in title
    assert "BDP 413" in chart.title(shown, 160).text, "a limit above the chart is told"
    window = "\n".join(line.text for line in chart.render(scene(ended(WINDOW)), 78, 12, False))
    assert "window" in window
    eight = [line.text for line in chart.render(scene(ended(EIGHT)), 78, 12, False)]
    assert any(line.startswith("BDP/8 25.8┤") for line in eight)
    assert any("+queue/8┤" in line for line in eight)


def test_a_mean_is_a_tick_at_the_right_edge_with_its_name_and_value() -> None:
    for name in (ONE, FOUR, WINDOW):
        for width, height in ((78, 9), (78, 12), (63, 13), (110, 30)):
            shown = scene(ended(name))
            lines = chart.render(shown, width, height, False)[:height]
            for kind, word in (("expected", "expected"), ("mean", "measured")):
                found = shown.reference(kind)  # type: ignore[arg-type]
                beside = [line.text[width - axes.MARGIN :] for line in lines]
                at = [row for row, text in enumerate(beside) if text.endswith(f" {word}")]
                if found is None:
                    continue
                row = height - 1 - chart._row_from_bottom(found.value, shown, height)
                if shown.flows > 1:
                    assert beside[row][0] in "◂◃"
                    assert found.name in chart.title(shown, width).text
                else:
                    assert abs(at[0] - row) <= 1
                    assert beside[at[0]].strip(" ◂◃").split() == [f"{found.value:.3g}", word]
                    assert (beside[at[0]][0] in "◂◃") == (at[0] == row), "no tick one line off"
                cells = [
                    column for line in lines for column, style in enumerate(line.styles) if style == kind
                ]
                assert all(each >= width - axes.MARGIN for each in cells), "nothing across the data"


def test_a_run_that_goes_on_names_its_latest_value_at_its_height() -> None:
    shown = scene(going(WINDOW, 6.0))
    (label,) = [line for line in chart.render(shown, 78, 12, False) if line.text.endswith(" now")]
    latest = next(value for value in reversed(shown.curves[0].last) if value == value)
    assert words(label).endswith(f"◂ {latest:.3g} now")
    assert label.styles[label.text.index("◂")] == "flow-1"
    assert not any(line.text.endswith(" now") for line in chart.render(scene(ended(WINDOW)), 78, 12, False))


def test_the_warm_up_is_a_ground_under_chart_and_strips() -> None:
    shown = scene(ended(ONE))
    lines = [*chart.render(shown, 78, 12, False)[:12], *strips.render(shown, shown.series["rtt"], 78)]
    across = axes.columns(78)
    for line in lines:
        ground = [at for at, style in enumerate(line.styles) if style.endswith(warmup.GROUND)]
        assert ground == list(range(axes.GUTTER, axes.GUTTER + round(5 / 45 * across)))


def test_swings_too_narrow_for_a_line_are_a_range_around_their_mean() -> None:
    shown = scene(ended(ONE))
    assert "range" in chart.title(shown, 63, 12).text
    lines = chart.render(shown, 63, 12, False)[:12]
    across = axes.columns(63)
    for at in range(axes.GUTTER + across // 4, axes.GUTTER + across):
        line = [
            row for row, each in enumerate(lines) if each.styles[at] == "flow-1" and each.text[at] > "\u2800"
        ]
        assert 1 <= len(line) <= 2, "a line, not a block"
    assert "range" not in styles(scene(ended("../congestion-algorithms/the-sawtooth"))), "teeth wide enough"
    assert "range" not in chart.title(scene(ended("../congestion-algorithms/the-sawtooth")), 78, 12).text


@pytest.mark.parametrize("width", [50, 78, 118])
def test_the_line_at_the_end_of_the_warm_up_is_named(width: int) -> None:
    for name in (ONE, FOUR, WINDOW, "../congestion-algorithms/the-sawtooth"):
        shown, across = scene(ended(name)), axes.columns(width)
        lines = chart.render(shown, width, 12, False)
        (line,) = [line.text for line in lines if "warm-up" in line.text]
        begins = axes.GUTTER + shown.share(shown.warmup) * across
        at = line.index("warm-up")
        assert at + len("warm-up") <= begins + 1 or line[at - 2 : at] == "◂ "
        assert min(abs(at - begins), abs(at + len("warm-up") - begins)) <= 3
    unknown = scene(going(ONE, 0.1))
    assert "warm-up" not in "\n".join(
        line.text for line in chart.render(replace(unknown, warmup=0.0), width, 12, False)
    )


def test_the_sawtooth_has_most_of_the_chart() -> None:
    shown = scene(ended("../congestion-algorithms/the-sawtooth"))
    (curve,) = shown.curves
    measured = [value for value in curve.high[len(curve.high) // 8 :] if value == value]
    assert max(measured) > 0.7 * shown.top
    top, *_ = chart.render(shown, 78, 9, False)
    assert "▲ 334" in top.text
    assert axes.GUTTER < top.text.index("▲") < axes.GUTTER + 6, "where the axis cuts it off"
    assert "peak" not in chart.title(shown, 78).text


def test_shares_are_called_so() -> None:
    lines = [line.text[78 - axes.MARGIN :] for line in chart.render(scene(ended(FOUR)), 78, 9, False)]
    (head,) = [row for row, text in enumerate(lines) if text.strip() == "flow, share"]
    assert lines[head + 1].rstrip().endswith(" %")


def test_a_prediction_above_the_chart_is_told_as_such() -> None:
    shown = scene(ended(ONE), OwnPrediction("99 Mbit/s", 99e6))
    title = chart.title(shown, 160).text
    assert "you 4" in title.partition("above:")[2]
    assert "◆ you" not in title
    assert "you" not in styles(shown)


def test_a_course_of_many_teeth_is_left_out() -> None:
    shown = scene(going(ONE, 20.0))
    assert shown.reference("trajectory")
    assert not chart.simplify(shown, 78, 12).reference("trajectory")
    assert chart.simplify(shown, 600, 30).reference("trajectory")


def test_old_columns_never_move_and_only_new_cells_are_drawn() -> None:
    before, after = (chart.render(scene(going(ONE, t)), 78, 12, False) for t in (20.0, 20.4))
    across = axes.columns(78)
    changed = [
        span for old, new in zip(before, after, strict=True) if (span := new.changed_range(old, 0, 78))
    ]
    assert changed
    assert all(start >= axes.GUTTER + across * 20 // 45 - 2 for start, _ in changed)
    edge = axes.GUTTER + across
    spans = [new.changed_range(old, 0, edge) for old, new in zip(before, after, strict=True)]
    assert sum(span[1] - span[0] for span in spans if span) < 30


def test_every_peak_and_every_loss_is_kept_however_narrow_the_chart() -> None:
    run = stored(ONE)
    (curve,) = scene(ended(ONE)).curves
    measured = [sample.cwnd for sample in run.samples]
    assert max(value for value in curve.high if value == value) == max(measured)
    assert min(value for value in curve.low if value == value) == min(measured)


def test_slow_starts_overshoot_does_not_flatten_what_is_measured() -> None:
    shown = scene(ended(ONE))
    assert max(curve for curve in shown.curves[0].high[180:] if curve == curve) > 0.7 * shown.top
    peak = max(sample.cwnd for sample in stored(ONE).samples)
    assert peak > 10 * shown.top
    assert shown.peak == peak
    assert f"▲ {peak}" in chart.render(shown, 120, 9, False)[0].text
    assert f"peak {peak}" in chart.title(chart.simplify(shown, 63, 9), 63).text, "no free place next to it"


def test_nothing_is_said_of_a_path_that_is_not_known() -> None:
    live = ended(ONE)
    live.expectation = None
    assert {each.kind for each in scene(live).references} == {"mean"}


def test_flows_without_a_window_are_drawn_by_their_rate() -> None:
    run = stored(FOUR)
    bare = SampleTable(msgspec.structs.replace(row, cwnd=0) for row in run.samples)
    shown = scene(live_of(msgspec.structs.replace(run, samples=bare)))
    assert shown.quantity == "throughput, Mbit/s"
    assert len(shown.curves) == 4
    assert {f"flow-{number}" for number in range(1, 5)} <= styles(shown)


def test_udp_has_a_line_a_flow_and_its_loss() -> None:
    run = stored(ONE)
    rows_ = [UdpSample(0, t / 10, t * 12_500, t * 10, t, 1e-4) for t in range(450)]
    result = UdpResult(
        pair=0, sent_bps=1.05e6, received_bps=1e6, lost=449, datagrams=4490, jitter_s=1e-4, out_of_order=3
    )
    experiment = msgspec.structs.replace(
        run.experiment, flows=msgspec.structs.replace(run.experiment.flows, udp_streams=1)
    )
    both = msgspec.structs.replace(run, experiment=experiment, udp_samples=UdpTable(rows_), udp=[result])
    assert any(
        line.startswith("UDP Mbit/s") and line.split()[-2:] == ["1", "mean"] for line in screen(live_of(both))
    )
    told = "\n".join(screen(live_of(both), view="flows"))
    assert "UDP 1: 1 Mbit/s of 1.05 Mbit/s arrive, 449 of 4490 lost" in told
    alone = msgspec.structs.replace(both, samples=SampleTable())
    shown = scene(live_of(alone, "running"))
    assert shown.quantity == "throughput, Mbit/s"
    assert [curve.name for curve in shown.curves] == ["UDP 1"]
    assert "flow-1" in styles(shown)


def test_the_time_axis_is_one_for_chart_and_strips() -> None:
    lines = screen(ended(ONE))
    at = next(line.index("┤") for line in lines if "┤" in line)
    assert at == axes.GUTTER - 1
    for name in ("Mbit/s", "RTT, ms", "queue, kB", "losses"):
        strip = next(line for line in lines if line.startswith(name))
        assert strip[axes.GUTTER - 1] == " "
        assert len(strip[axes.GUTTER : 78 - axes.MARGIN]) == axes.columns(78)


def test_a_part_of_a_line_is_written_only_where_it_changed() -> None:
    before, after = Line.of(("abcdef", "text")), Line.of(("abXdeY", "text"))
    assert after.changed_range(before, 0, 6) == (2, 6)
    assert after.changed_range(before, 0, 4) == (2, 3)
    assert after.changed_range(before, 3, 5) is None
    assert Line.of(("abc", "text")).changed_range(before, 0, 6) == (3, 6), "what was there is blank now"


def test_a_page_about_throughput_charts_it_with_the_prediction_and_the_link() -> None:
    live = ended(WINDOW)
    live.charted = "throughput"
    shown = scene(live, OwnPrediction("12 Mbit/s", 12e6))
    assert shown.quantity == "throughput, Mbit/s"
    assert "throughput" not in shown.series, "no strip shows the same"
    assert live.report is not None
    mean = live.report.throughput_bps / 1e6
    text = [words(line) for line in chart.render(shown, 78, 12, False)]
    for label in (f"{mean:.3g} measured", "12 you"):
        assert any(line.rstrip().endswith(label) for line in text), label
    curve = [value for value in shown.curves[0].last if value == value]
    assert curve[len(curve) // 2 :] == pytest.approx([mean] * (len(curve) - len(curve) // 2), rel=0.03), (
        "level: averaged over whole round trips"
    )
    assert any("cwnd, segments" in line for line in screen(live, view="cwnd"))


def test_a_page_about_the_rtt_charts_it_in_its_hue_and_leads_with_it() -> None:
    live = ended("full-link")
    live.charted, live.said = "rtt", ("rtt", 0.02)
    shown = scene(live)
    assert shown.quantity == "RTT, ms"
    assert RTT in styles(shown)
    assert "flow-1" not in styles(shown)
    assert live.report is not None
    mean = live.report.flows[0].mean_rtt_s
    assert mean is not None
    first = screen(live)[0]
    assert first.startswith(f"{mean * 1e3:.3g} ms mean RTT, ")
    assert "you said 20 ms" in " ".join(screen(live)[:2])


def test_what_limits_a_flow_of_many_is_not_drawn_for_one() -> None:
    live = ended(FOUR)
    live.charted = "throughput"
    shown = scene(live, OWN)
    assert len(shown.curves) == 4
    assert not shown.references


def test_an_expected_trajectory_of_narrow_teeth_is_a_line_through_its_range() -> None:
    teeth = [(float(column), 20.0 if column % 2 else 4.0) for column in range(100)]
    line, area = Layer("forecast", 100, 24), Layer("range", 100, 24)
    line.line(teeth)
    trace.thin_out(line, area)
    for column in range(10, 90):
        assert area.columns[column].bit_count() > 8
        assert line.columns[column].bit_count() <= 2
        assert 10 <= line.columns[column].bit_length() <= 15
    wide, nothing = Layer("forecast", 100, 24), Layer("range", 100, 24)
    wide.line([(0.0, 4.0), (50.0, 20.0), (51.0, 4.0), (99.0, 20.0)])
    drawn = list(wide.columns)
    trace.thin_out(wide, nothing)
    assert wide.columns == drawn
    assert not any(nothing.columns)
