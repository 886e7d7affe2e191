"""The chart and the lines under it: what a student may conclude from them."""

from __future__ import annotations

from msgspec.structs import replace

from tcptutor import analysis
from tcptutor.run import Environment, Run, SampleTable
from tcptutor.spec import Experiment, Flows, Hosts, Path
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axis, legend, plot, sparklines, traces

from .fakes import recorded
from .made import eight, lossy

EXPERIMENT = lossy().experiment
SIZE = (60, 14)


def live(until: float) -> Live:
    run = Run(
        id="r",
        experiment=EXPERIMENT,
        environment=Environment(backend="guest", clock="virtual", kernel="6.12"),
        started="",
        samples=SampleTable(sample for sample in recorded(EXPERIMENT).samples if sample.t <= until),
    )
    return Live("m", "s", run, expectation=expected(EXPERIMENT), drawn=list(run.samples), state="running")


def picture(until: float) -> list[plot.Line]:
    flows = traces.traces(live(until).drawn, EXPERIMENT.seconds, SIZE[0] * 2)
    return plot.draw(list(flows.values()), SIZE, EXPERIMENT.seconds, 150, 38.7)


def test_old_columns_never_move_and_only_new_cells_are_drawn() -> None:
    before, after = picture(10.0), picture(10.4)
    changed = [span for old, new in zip(before, after, strict=True) if (span := new.changed(old))]
    middle = SIZE[0] // 2
    assert changed
    assert all(start >= middle for start, _ in changed)
    assert sum(end - start for start, end in changed) < 30


def test_every_peak_and_every_loss_is_kept_however_narrow_the_chart() -> None:
    samples = live(22).drawn
    (points,) = traces.traces(samples, EXPERIMENT.seconds, 40).values()
    assert len(points) < len(samples) / 2
    assert max(cwnd for _, cwnd in points) == max(sample.cwnd for sample in samples)
    assert min(cwnd for _, cwnd in points) == min(sample.cwnd for sample in samples)


def test_slow_starts_overshoot_does_not_flatten_what_is_measured() -> None:
    samples = [sample for sample in recorded(EXPERIMENT).samples if sample.cwnd <= 60]
    import msgspec

    spike = msgspec.structs.replace(samples[0], t=1.0, cwnd=900)
    assert traces.top([spike, *samples], warmup=2.0, expected=38.7) <= 80
    assert traces.top([spike, *samples], warmup=0.0, expected=38.7) >= 900, "nothing measured is cut off"


def test_each_kind_has_a_shape_of_its_own() -> None:
    several = eight().experiment
    flows = traces.traces(recorded(several).samples, several.seconds, SIZE[0] * 2)
    lines = plot.draw(list(flows.values()), SIZE, several.seconds, 150, 38.7)
    shapes = {kind: set(text) for line in lines for kind, text in line.pieces()}
    assert plot.MEAN in shapes[plot.FLOW]
    assert plot.EXPECTED in shapes[plot.MODEL]
    assert not {plot.MEAN, plot.EXPECTED} & shapes[plot.FAINT]


def test_a_column_without_a_point_of_its_own_shows_the_one_that_spans_it() -> None:
    points = [(1.0, 0.0), (2.0, 8.0), (3.0, 4.0)]
    assert sparklines.sparkline(points, 4.0, 8, 8.0) == "▁▁▇▇▄▄  "


def test_the_lines_under_the_chart_have_its_time_axis() -> None:
    for top in (10, 150, 4000):
        lines = plot.draw([], SIZE, EXPERIMENT.seconds, top, None)
        scale = next(line.text for line in lines if "└" in line.text)
        assert scale.index("└") == axis.GUTTER - 1
        assert len(scale.rstrip()) - axis.GUTTER == axis.columns(SIZE[0])
    shown = live(22)
    shown.rates = [(t / 2, 9e6) for t in range(1, 45)]
    for line in (sparklines.throughput(shown, SIZE[0]), sparklines.rtt(shown, SIZE[0])):
        assert len(line.plain) == SIZE[0]
        assert line.plain[axis.GUTTER - 1] == " "
        assert set(line.plain[axis.GUTTER :]) <= set(sparklines.BLOCKS)


def test_a_full_block_of_rtt_is_a_full_queue() -> None:
    path = Path(rate=10e6, delay=0.02, queue=25_000)
    assert sparklines.rtt_scale(Experiment(name="e", path=path)) == 0.04


def expected(made: Experiment) -> analysis.Expectation:
    return replace(analysis.expect(made), trajectory=analysis.window_courses(made))


def test_the_expected_course_lies_under_what_is_measured() -> None:
    made = Experiment(
        name="e",
        path=Path(rate=20e6, delay=0.05, queue=60_000),
        hosts=Hosts(algorithm="reno"),
        flows=Flows(duration=18, warmup=2),
    )
    expectation = expected(made)
    course = traces.course(expectation, made.seconds, SIZE[0])
    assert course
    empty = plot.draw([], SIZE, made.seconds, 150, expectation.cwnd_segments, course)
    shapes = {kind: set(text) for line in empty for kind, text in line.pieces()}
    assert plot.COURSE in shapes[plot.TIMELY]
    # A flow that goes as the model says hides it.
    over = plot.draw([course], SIZE, made.seconds, 150, None, course)
    assert sum(line.text.count(plot.COURSE) for line in over) < 5
    assert sum(line.text.count(plot.COURSE) for line in empty) > 60


def test_a_course_of_unlike_flows_is_their_mean() -> None:
    made = Experiment(
        name="e",
        path=Path(rate=20e6, delay=0.05, queue=60_000),
        flows=Flows(streams=2, duration=18, warmup=2, starts=(0.0, 6.0)),
    )
    course = traces.course(expected(made), made.seconds, SIZE[0])
    assert len(course) <= SIZE[0] + 1
    assert [t for t, _ in course] == sorted(t for t, _ in course)


def test_the_legend_names_the_course_wherever_it_is_drawn() -> None:
    shown = live(22)
    for streams, window in ((1, None), (4, None), (1, 65536)):
        made = Experiment(
            name="e",
            path=Path(rate=20e6, delay=0.05, queue=60_000),
            hosts=Hosts(algorithm="reno", window=window),
            flows=Flows(streams=streams, duration=18, warmup=2),
        )
        shown.run.experiment, shown.expectation = made, expected(made)
        for width in (51, 64, 78):
            text = legend.legend(shown, width)
            assert f"{plot.COURSE * 3} " in text.plain
            assert text.plain.endswith("course")
            assert text.cell_length <= width
