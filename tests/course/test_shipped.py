"""The course that ships: fit to read, and with experiments that a slow machine can run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tcptutor import places
from tcptutor.backends import replay
from tcptutor.course import Question, Step, claims, experiment, lint, load
from tcptutor.course.experiments import Catalogue
from tcptutor.course.glossary import glossary
from tcptutor.course.record import PageRecord
from tcptutor.course.sitting import Sitting
from tcptutor.run import load as load_run
from tcptutor.spec import Experiment

COURSE = load()
STREAMS = COURSE.modules[0]
RUNS = [step for step in STREAMS.steps if step.experiment]
RECORDED = [load_run(path) for path in sorted((places.assets() / "recorded").glob("*/*.tcprun"))]


def goodput(path: Experiment) -> float:
    """What the link, the windows and Mathis (C = 1.31, the larger one) allow, bit/s: the least."""
    rtt = path.path.delay
    limits = [(path.path.rate or 1e12) * 1448 / 1514]
    if path.hosts.window:
        limits.append(path.total_streams * path.hosts.window * 8 / rtt)
    if path.path.loss:
        limits.append(path.total_streams * 1.31 * 1448 * 8 / (rtt * path.path.loss**0.5))
    return min(limits)


def run_of(step: Step) -> Experiment:
    assert step.experiment
    return step.experiment.experiment


def test_it_lints_clean() -> None:
    assert lint() == []


def test_the_module_is_there_with_its_steps_in_order() -> None:
    assert (STREAMS.id, STREAMS.number, STREAMS.title) == ("parallel-streams", 3, "Parallel streams")
    assert [step.id for step in STREAMS.steps][:3] == [
        "what-a-stream-is",
        "what-limits-one-flow",
        "one-lossy-flow",
    ]
    assert STREAMS.steps[2].kinds == ("predict", "experiment", "question")


def test_a_step_changes_what_it_sets_and_nothing_else() -> None:
    base = STREAMS.experiments["parallel-streams/random-loss"]
    four = next(run_of(step) for step in RUNS if step.id == "four-lossy-flows")
    assert (base.flows.streams, four.flows.streams) == (1, 4)
    assert four.path == base.path


def test_a_queue_in_bdp_follows_an_overridden_delay() -> None:
    assert experiment("parallel-streams/small-window").path.queue == 120_000
    assert experiment("parallel-streams/small-window", {"delay": "80ms"}).path.queue == 240_000


@pytest.mark.parametrize("step", RUNS, ids=lambda step: step.id)
def test_a_run_is_short_even_on_an_emulated_machine(step: Step) -> None:
    # 2,200 data segments a wall second is the slowest that was seen in the guest.
    run = run_of(step)
    assert goodput(run) / 8 / 1448 * run.seconds / 2200 < 40


@pytest.mark.parametrize("step", RUNS, ids=lambda step: step.id)
def test_a_run_that_loss_limits_has_losses_enough_to_compare(step: Step) -> None:
    run = run_of(step)
    segments = goodput(run) / 8 / 1448 * run.flows.duration
    assert not run.path.loss or segments * run.path.loss >= 30


CATALOGUE = Catalogue(places.lessons())
MEASURED = [claims.MeasuredRun(run) for run in RECORDED]


def contradicted(step: Step, of: claims.MeasuredRun | None = None) -> list[str]:
    """The claims of `step` that recorded runs contradict, or that `of` would if it were the page's."""

    def find(experiment: Experiment) -> claims.MeasuredRun:
        return of or next(run for run in MEASURED if replay.same(run.run.experiment, experiment))

    found = []
    for claim in step.claims:
        compared = claims.claim_run(claim, STREAMS.id, step.setup, CATALOGUE.build)
        judgement = claims.judge(claim, compared, find)
        if not judgement.agrees:
            found.append(f"{claim.text}: {judgement.found}")
    return found


@pytest.mark.parametrize("step", RUNS, ids=lambda step: step.id)
def test_the_recorded_run_agrees_with_what_the_page_says_of_it(step: Step) -> None:
    assert contradicted(step) == []
    delay = run_of(step).path.delay
    other = next(run for run in MEASURED if run.run.experiment.path.delay != delay)
    assert contradicted(step, other), "claims that every run agrees with say nothing"


@pytest.mark.parametrize("step", RUNS, ids=lambda step: step.id)
def test_nothing_about_a_run_is_asked_before_it(step: Step) -> None:
    page = PageRecord(visited=True)
    revealed = [each.id for each in step.of(Question) if Sitting.LEARN.reveals(each, page)]
    assert revealed == (["window-needed"] if step.id == "eight-small-windows" else [])


def test_terms_lead_to_the_page_that_explains_them() -> None:
    assert COURSE.root
    found = {term.title: term for term in glossary(COURSE.root)}
    assert found["round-trip time, RTT"].read.endswith("/what-a-stream-is")
    assert found["receive window"].read.endswith("/one-small-window")
    assert len(found) >= 12


@pytest.mark.parametrize("step", RUNS, ids=lambda step: step.id)
def test_the_page_names_the_value_that_the_models_give(step: Step) -> None:
    run = run_of(step)
    mathis = run.total_streams * 1.2247 * 1448 * 8 / (run.path.delay * (run.path.loss or 1) ** 0.5)
    value = min(goodput(run), mathis) if run.path.loss else goodput(run)
    # In two digits, as the models' round trip has the path's own 0.1 ms in it.
    assert any(f"**{value / 1e6:{digits}}" in step.after for digits in (".3g", ".2g", ".1f"))


def test_loading_the_course_imports_nothing_heavy() -> None:
    code = "import sys, tcptutor.course as c; c.load(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"textual", "rich", "asyncio", "mininet", "pyroute2", "plotext"} & set(loaded.split())
