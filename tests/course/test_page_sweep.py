"""A page's own sweep: its models, its runs as a grid, and the command that runs it."""

from __future__ import annotations

import math

import msgspec
import pytest

from tcptutor.backends import replay
from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.commands.sweep import SweepRequest, run_sweep
from tcptutor.course import load, page_sweep
from tcptutor.course.activities.run import SweepActivity
from tcptutor.run import load as load_run
from tests.command import here as tcptutor
from tests.course.conftest import EXAMPLES
from tests.recorded import cells, sweeps
from tests.ui.fakes import swept

NAME = "a-curve/window-and-link"


def example() -> SweepActivity:
    sweep = load(EXAMPLES).modules[1].steps[0].sweep
    assert sweep is not None
    return sweep


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "lessons", lambda: EXAMPLES)


@pytest.mark.usefixtures("examples")
def test_the_command_takes_a_page_in_place_of_a_grid() -> None:
    done = tcptutor("sweep", NAME, "--backend", "replay", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("6 cells to run, replay")


@pytest.mark.usefixtures("examples")
def test_without_a_grid_the_command_says_which_pages_have_one() -> None:
    with pytest.raises(UsageError, match=r"'--grid'.* or name a page that sweeps: 2\.1"):
        run_sweep(SweepRequest(experiment="small-window", grid=()))
    with pytest.raises(UsageError, match="omit --set, --seed and --scale"):
        run_sweep(SweepRequest(experiment=NAME, grid=(), settings={"loss": "1 %"}))


def test_the_page_s_formula_leads_until_the_link_binds() -> None:
    lead, *others = page_sweep.models(example())
    assert (lead.name, lead.kind) == ("receiver's window", "formula")
    # 5000 bytes in 40 ms, then what the link carries.
    assert lead.values[0] == pytest.approx(1e6, rel=0.45)
    assert lead.values[-1] == pytest.approx(4e6 * 1448 / 1514, rel=0.001)
    assert list(lead.values) == sorted(lead.values)
    assert [line.kind for line in others] == ["link"]


def test_other_measures_have_the_models_that_speak_of_them() -> None:
    def kinds(measure: str) -> list[str]:
        return [line.name for line in page_sweep.models(msgspec.structs.replace(example(), measure=measure))]

    assert kinds("jain") == ["models"]
    assert kinds("rtt") == ["models", "no queue"]
    assert kinds("loss-rate") == ["models"]
    assert kinds("cov") == kinds("udp-loss") == []


@pytest.mark.parametrize(
    ("name", "within"),
    [
        # A window that stands in a queue: arithmetic. Eight flows and more at one: losses by chance, some tens of them.
        ("tcp-basics/more-than-the-pipe-holds", 0.01),
        ("parallel-streams/the-loss-curve", 0.25),
        ("pacing/how-fast-to-pace", 0.25),
    ],
)
def test_the_models_of_rtt_and_loss_are_near_to_what_was_recorded(name: str, within: float) -> None:
    sweep = sweeps()[name]
    lead, *_ = page_sweep.models(sweep)
    assert lead.kind == "formula"
    for file, (at, _) in cells(sweep).items():
        expected = lead.values[at]
        run = load_run(replay.recordings_folder() / name / f"{file}.tcprun")
        figure = page_sweep.page_cell(sweep, at, run).figure
        chance = 1e-4
        if sweep.measure == "loss-rate":  # three standard deviations of as many losses as are expected
            sent = sum(row.segs_out for row in {row.flow: row for row in run.samples}.values())
            chance = max(chance, 3 * math.sqrt(expected / sent))
        assert figure == pytest.approx(expected, rel=within, abs=chance)


def test_the_run_with_the_fewest_segments_comes_first_and_the_others_stay_in_their_order() -> None:
    todo = list(example().cells())
    order = [at for at, _ in page_sweep.order_by_first_point(todo[::-1])]
    assert order == [0, 5, 4, 3, 2, 1], "the smallest window carries the least"
    assert page_sweep.order_by_first_point([]) == []


def test_a_run_is_found_at_its_value_whatever_its_seed() -> None:
    sweep = example()
    assert [page_sweep.axis_index(sweep, run.experiment) for run in swept()] == [0, 1, 2, 3, 4, 5]
    other = msgspec.structs.replace(swept()[2].experiment, seed=77)
    assert page_sweep.axis_index(sweep, other) == 2
    assert page_sweep.axis_index(sweep, msgspec.structs.replace(other, pairs=2)) is None


@pytest.mark.parametrize(
    ("measure", "low", "high"),
    [
        ("throughput", 2.8e6, 2.9e6),
        ("rtt", 0.04, 0.045),
        ("loss-rate", 0, 0),
        ("jain", 1, 1),
        ("share1", 1, 1),
    ],
)
def test_each_measure_is_a_number_of_the_run(measure: str, low: float, high: float) -> None:
    sweep = msgspec.structs.replace(example(), measure=measure)
    figure = page_sweep.page_cell(sweep, 2, swept()[2]).figure
    assert figure is not None
    assert low <= figure <= high
