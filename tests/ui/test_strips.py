"""The strips under the chart, and the lines that say what limited a run over time, in words and marks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import msgspec
import pytest

from tcptutor.analysis import Report, report
from tcptutor.figures.lines import DATA, QUEUE, RTT
from tcptutor.run import CA_STATES, Run, SampleTable
from tcptutor.study.live import EarlierRun, Live
from tcptutor.ui.widgets.chart import axes, strips, warmup
from tcptutor.ui.widgets.chart import series as series_module
from tcptutor.ui.widgets.chart.scene import Series
from tcptutor.ui.widgets.readout import causes

from .fakes import recorded
from .lives import EIGHT, ONE, WINDOW, ended, going, live_of, scene, screen, words
from .made import eight


@cache
def told() -> tuple[Run, Report]:
    run = recorded(eight().experiment)
    return run, report(run)


@pytest.fixture
def live() -> Live:
    """Eight flows that grow for 1 of 20 s, fill the queue for another, and are held by random loss from then on."""
    run, whole = told()
    return Live("a", "b", run, report=whole, state="ended")


def content(line: str, width: int) -> str:
    return line[axes.GUTTER : axes.GUTTER + axes.columns(width)]


def test_causes_are_written_out_where_they_fit(live: Live) -> None:
    wide = causes.causes(live, 152).text
    assert " random loss ── g: slow growth, b: bottleneck ─" in wide
    assert wide.endswith(" 100 % of time")
    assert "bottleneck" not in causes.key(live, 152, full=True)


def test_marks_that_stand_alone_are_explained(live: Live) -> None:
    narrow = causes.causes(live, 86).text
    assert narrow.startswith("limited by gggbbb random loss ── g: slow growth, b: bottleneck ")
    assert causes.key(live, 86, full=False) == ""
    slim = causes.causes(live, 54).text
    assert slim.startswith("limited by gbb random loss ─")
    assert causes.key(live, 54, full=False) == "g: slow growth, b: bottleneck"


def test_a_cause_begins_where_it_does_on_the_chart(live: Live) -> None:
    line = causes.causes(live, 80 + axes.GUTTER + axes.MARGIN).text
    # 2 of 20 s on 80 columns.
    assert line.index(" random loss") - axes.GUTTER == 8


def test_phases_show_recoveries_that_are_shorter_than_a_column(live: Live) -> None:
    line = causes.phases(live, 90).text
    assert line.startswith("of flow 1")
    assert line.count("v") >= 5
    assert "v: recovery" in causes.key(live, 90, full=True)


def test_no_mark_means_two_things() -> None:
    marks = [mark for _, mark in (*causes.CAUSES.values(), *causes.PHASES.values())]
    marks += [strips.LOST, strips.MARKED, strips.DROPPED]
    assert len(set(marks)) == len(marks)


def test_without_a_verdict_there_is_nothing(live: Live) -> None:
    live.report = None
    assert causes.causes(live, 80).text == causes.phases(live, 80).text == ""
    assert causes.key(live, 80, full=True) == ""


def test_a_number_says_which_one_it_is() -> None:
    before, after = scene(going(ONE, 20.0)).series, scene(ended(ONE)).series
    for name in ("throughput", "rtt", "queue"):
        assert before[name].summary.endswith(" now")
    assert after["throughput"].summary == "8.99 mean"
    assert after["rtt"].summary == "50.5 mean"
    assert after["queue"].summary.endswith(" most")
    assert after["losses"].summary == after["retransmits"].summary == "32 measured"
    assert before["retransmits"].summary.endswith(" so far")


def test_no_word_is_cut_however_large_its_number() -> None:
    for number in (9, 148, 1480, 99_999):
        said = series_module._format_count(number)
        line = strips.render(scene(ended(ONE)), Series("losses", [0.0], 1.0, said, aggregation="signs"), 78)[
            0
        ]
        assert words(line).endswith(f" {said}")
        assert said.split()[1] in ("measured", "counted")
        running = Series("retrans", [0.0], 1.0, f"{number} so far", aggregation="sum")
        assert strips.render(scene(ended(ONE)), running, 78)[0].text.endswith(" so far")


def test_the_warm_up_has_its_own_figures_and_the_others_are_without_it() -> None:
    run, shown = ended(ONE).run, scene(ended(ONE))
    warmup = run.experiment.flows.warmup
    after = max(row.bytes for row in run.queue if row.t >= warmup)
    assert shown.series["queue"].summary == f"{after / 1000:.3g} most"
    assert after < max(row.bytes for row in run.queue) / 100
    (line,) = [line for line in screen(ended(ONE)) if line.startswith("warm-up")]
    before = max(row.retransmits for row in run.samples) - 32
    rows = [row for row in run.queue if row.t < warmup]
    queued = f"queue: {rows[-1].drops} dropped, most {max(row.bytes for row in rows) / 1000:.3g} kB"
    assert rows[-1].drops > 500
    assert line.split(maxsplit=1)[1].rstrip() == f"{before} retransmitted, {queued}"
    assert not any(line.startswith("warm-up") for line in screen(ended(WINDOW)))


def test_r_promises_new_losses_only_where_chance_makes_them() -> None:
    assert "r draws new losses, R repeats" in "\n".join(screen(ended(ONE), 110, 47))
    assert "r runs it again." in "\n".join(screen(ended(WINDOW), 110, 47))


def test_rtt_stands_on_the_path_s_own_and_is_full_with_the_queue() -> None:
    rtt = scene(ended(EIGHT)).series["rtt"]
    assert rtt.lower == pytest.approx(0.05, abs=2e-3)
    assert rtt.upper == pytest.approx(0.1, abs=2e-3), "50 ms, and 312 kB at 50 Mbit/s"
    empty = content(strips.render(scene(ended(ONE)), scene(ended(ONE)).series["rtt"], 90)[0].text, 90)
    assert set(empty[5:]) == {"▁"}, "nothing waits"


def test_marks_stand_where_it_happened() -> None:
    shown = scene(ended(ONE))
    line = content(strips.render(shown, shown.series["losses"], 90)[0].text, 90)
    queue = content(strips.render(shown, shown.series["queue"], 90)[0].text, 90)
    assert queue.startswith(strips.DROPPED), "slow start overflows the queue"
    assert queue.count(strips.DROPPED) <= 3
    assert line.count(strips.LOST) >= 20
    columns, run = axes.columns(90), ended(ONE).run
    rises = [b.t for a, b in zip(run.samples, run.samples[1:], strict=False) if b.retransmits > a.retransmits]
    for t in rises:
        at = int(t / 45 * columns)
        assert set(line[max(0, at - 1) : at + 2]) & {strips.LOST, strips.DROPPED}


@pytest.mark.parametrize("width", [40, 78, 118])
def test_every_loss_is_seen_beside_what_the_queue_dropped(width: int) -> None:
    """Slow start overflows the queue while the sender answers the first loss."""
    live = ended("../congestion-algorithms/slow-start")
    shown, columns = scene(live), axes.columns(width)
    losses = shown.series["losses"]

    def columns_with(values: Sequence[float]) -> set[int]:
        edges = [column * len(values) // columns for column in range(columns + 1)]
        return {column for column, (a, b) in enumerate(pairwise(edges)) if any(values[a:b])}

    wanted, dropped = columns_with(losses.values), columns_with(losses.drops)
    assert wanted & dropped, "both happen within one column"
    alone = content(strips.render(shown, losses, width)[0].text, width)
    assert {at for at, sign in enumerate(alone) if sign == strips.LOST} == wanted
    assert {at for at, sign in enumerate(alone) if sign == strips.DROPPED} == dropped - wanted
    if width == 78:
        drawn = {line.split()[0].strip(","): content(line, width) for line in screen(live)}
        assert {at for at, sign in enumerate(drawn["losses"]) if sign != " "} == wanted
        assert {at for at, sign in enumerate(drawn["queue"]) if sign == strips.DROPPED} == dropped


def test_a_mark_is_no_loss() -> None:
    """The run as a queue that marks would have it: the sender enters CWR where it entered recovery."""
    whole = ended(ONE).run
    cwr, open_ = CA_STATES.index("cwr"), CA_STATES.index("open")
    samples = [
        msgspec.structs.replace(
            row,
            ca_state=cwr if row.ca_state > open_ else open_,
            retransmits=0,
            delivered_ce=row.retransmits,
            total_rto=0,
        )
        for row in whole.samples
    ]
    flows = [
        msgspec.structs.replace(flow, losses=0, retransmits=0, mark_cuts=flow.losses) for flow in whole.flows
    ]
    marked = live_of(msgspec.structs.replace(whole, samples=SampleTable(samples), flows=flows))
    series = scene(marked).series["losses"]
    line = content(strips.render(scene(marked), series, 90)[0].text, 90)
    assert line.count(strips.MARKED) >= 20
    assert strips.LOST not in line
    assert series.summary == "0, 32"
    assert f"{strips.MARKED} by a mark" in strips.key([series])
    assert strips.MARKED not in strips.key([scene(ended(ONE)).series["losses"]])


def test_what_was_not_measured_yet_is_blank() -> None:
    shown = scene(going(ONE, 9.0))
    for series in shown.series.values():
        line = content(strips.render(shown, series, 90)[-1].text, 90)
        assert line[axes.columns(90) // 5 + 2 :].strip() == "", series.name


def test_a_taller_strip_has_finer_steps() -> None:
    shown = scene(ended(ONE))
    one, three = (strips.render(shown, shown.series["throughput"], 90, height) for height in (1, 3))
    assert len(one) == 1
    assert len(three) == 3
    assert three[-1].text.startswith("Mbit/s")
    assert "█" in three[-1].text


def test_runs_before_are_faint_lines_under_this_one_and_marks_on_the_ruler() -> None:
    live, chance = ended(ONE), random.Random(1)
    live.earlier = tuple(
        EarlierRun(f"{n}", n, 9e6 + n * 4e5, tuple((t + 1.0, chance.gauss(9e6, 2e6)) for t in range(45)))
        for n in range(3)
    )
    shown = scene(live)
    drawn = strips.render(shown, shown.series["throughput"], 90, 2)
    assert {strips.EARLIER, DATA} <= {warmup.base_style(style) for line in drawn for style in line.styles}
    lines = screen(live)
    row = next(line for line in lines if line.startswith("3 runs before"))
    assert row.count("○") == 3 or "┃" in row
    assert "9.8 the last" in row


def test_throughput_rtt_and_queue_have_a_hue_each() -> None:
    shown = scene(ended(ONE))
    for name, style in (("throughput", DATA), ("rtt", RTT), ("queue", QUEUE)):
        (line,) = strips.render(shown, shown.series[name], 90)
        drawn = {warmup.base_style(each).removesuffix(strips.AREA) for each in line.styles}
        assert not drawn & ({DATA, RTT, QUEUE} - {style})
        assert line.styles[axes.GUTTER + axes.columns(90) + 4] == style, "its figure, too"


def test_a_column_takes_the_mean_the_most_or_the_sum_of_its_steps() -> None:
    values = [1.0, 3.0, 5.0, float("nan")]
    for how, wanted in (("mean", [2.0, 5.0]), ("most", [3.0, 5.0]), ("sum", [4.0, 5.0])):
        assert strips.by_column(Series("", values, 5.0, "", aggregation=how), 2) == wanted  # type: ignore[arg-type]
