"""The course that ships: fit to read, quick to run, and true to the runs that are recorded of it."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from statistics import median

import pytest

from tcptutor.analysis import ThroughputModel, expect
from tcptutor.authoring.claims import judge, runs
from tcptutor.authoring.lint import lint
from tcptutor.authoring.page_claims import PageClaim, page_claims
from tcptutor.backends import replay
from tcptutor.base import places
from tcptutor.course import Module, experiments, load
from tcptutor.course.glossary import glossary
from tcptutor.course.measurements import MeasuredRun
from tcptutor.course.outline import pages
from tcptutor.run import load as load_run
from tcptutor.spec import Experiment

COURSE = load()
MODULES = COURSE.modules
STREAMS = next(module for module in MODULES if module.id == "parallel-streams")
CLAIMS = list(page_claims(places.lessons(), pages(places.lessons())))
SEGMENTS = 2800
"""Data segments a wall second, in the guest on a quiet core; measured."""
START = 1.0
"""Seconds that a run takes beside its traffic."""
LONGEST, MEDIAN = 25.0, 12.0
"""Seconds of a page's run."""
SWEEP, FIRST = 60.0, 5.0
"""Seconds to the last point of a sweep with two runs at a time, and to the first one."""
SURVIVES = frozenset(
    "throughput rtt utilization idle losses retransmissions loss-rate cwnd jain cov-between share completion"
    " udp-rate udp-loss udp-jitter udp-out-of-order".split()
)
"""What thinning leaves as it was: it is not made of samples."""

of_modules = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.id)


def wall(run: Experiment) -> float:
    """Seconds that it takes, about: by its segments."""
    flows = run.flows
    rate = expect(run).binding.throughput_bps if run.total_streams else 0.0
    rate += run.pairs * flows.udp_streams * flows.udp_rate
    if run.path.rate:
        rate = min(rate, run.path.rate)
    sent = rate * run.seconds / 8
    if flows.bytes is not None:
        sent = min(sent, flows.bytes * run.total_streams)
    # A datagram has the length of a write; TCP gathers small writes into full segments.
    packet = min(run.segment, flows.length or run.segment) if flows.udp_streams else run.segment
    return START + sent / packet / SEGMENTS


def runs_of(module: Module) -> dict[str, Experiment]:
    return {step.id: step.experiment.experiment for step in module.steps if step.experiment}


@cache
def recordings(module: str) -> tuple[tuple[str, MeasuredRun], ...]:
    """Those of a module, by their files' names."""
    root = replay.recordings_folder() / module
    files = sorted(root.glob("**/*.tcprun"))
    return tuple((str(file.relative_to(root)), MeasuredRun(load_run(file))) for file in files)


def recorded(run: Experiment) -> tuple[str, MeasuredRun] | None:
    found = recordings(run.name.partition("/")[0])
    return next((each for each in found if replay.same_experiment(each[1].run.experiment, run)), None)


def is_recorded(claim: PageClaim) -> bool:
    """Whether recordings can tell: those of sweeps have few samples."""
    found = [recorded(run) for run in runs(claim.claim, claim.claim_runs[0])]
    thin = any(each and "/" in each[0] for each in found)
    whole = not (claim.claim.start or claim.claim.end) and claim.claim.quantity in SURVIVES
    return all(found) and (whole or not thin)


def find(run: Experiment) -> MeasuredRun:
    found = recorded(run)
    assert found is not None
    return found[1]


def test_it_lints_clean() -> None:
    assert lint() == []


def test_the_module_is_there_with_its_steps_in_order() -> None:
    assert (STREAMS.id, STREAMS.number, STREAMS.title) == ("parallel-streams", 3, "Parallel streams")
    ids = [step.id for step in STREAMS.steps]
    assert ids[0] == "what-a-stream-is"
    assert ids.index("one-lossy-flow") < ids.index("four-lossy-flows") < ids.index("the-whole-curve")
    assert next(step.kinds for step in STREAMS.steps if step.id == "one-lossy-flow") == (
        "predict",
        "experiment",
        "question",
    )


def test_a_step_changes_what_it_sets_and_nothing_else() -> None:
    base = STREAMS.experiments["parallel-streams/random-loss"]
    four = runs_of(STREAMS)["four-lossy-flows"]
    assert (base.flows.streams, four.flows.streams) == (1, 4)
    assert four.path == base.path


def test_a_queue_in_bdp_follows_an_overridden_delay() -> None:
    assert experiments.build("parallel-streams/small-window").path.queue == 120_000
    assert experiments.build("parallel-streams/small-window", {"delay": "80ms"}).path.queue == 240_000


@of_modules
def test_a_run_is_short_even_on_an_emulated_machine(module: Module) -> None:
    """By the segments that are expected; `python -m tests.benchmarks pages` measures it."""
    times = {page: wall(run) for page, run in runs_of(module).items()}
    assert {page: round(time) for page, time in times.items() if time > LONGEST} == {}
    assert not times or median(times.values()) <= MEDIAN


@of_modules
def test_the_points_of_a_sweep_come_soon(module: Module) -> None:
    for step in module.steps:
        if step.sweep is not None:
            times = [wall(run) for _, run in step.sweep.cells()]
            assert sum(times) / 2 <= SWEEP, step.id
            assert times[0] <= 2 * FIRST, step.id


@of_modules
def test_a_run_whose_page_compares_it_with_a_loss_formula_has_losses_enough(module: Module) -> None:
    for step in module.steps:
        if step.experiment and step.experiment.model:
            expected = expect(step.experiment.experiment)
            if (
                ThroughputModel(step.experiment.model).is_of_loss
                and expected.binding.limited_by == "random-loss"
            ):
                assert expected.loss_events >= 20, step.id


@of_modules
def test_the_recorded_runs_agree_with_what_the_pages_say_of_them(module: Module) -> None:
    """`tcptutor lint --run` asks the same of new runs, with more seeds."""
    found = []
    for each in CLAIMS:
        if each.module == module.id and is_recorded(each):
            judgement = judge(each.claim, each.claim_runs[0], find)
            if not judgement.agrees:
                found.append(f"{each.file}:{each.line}: {each.claim.text}: {judgement.found}")
    assert found == []


@of_modules
def test_claims_that_every_run_agrees_with_say_nothing(module: Module) -> None:
    for page in {each.page for each in CLAIMS if each.module == module.id}:
        mine = [each for each in CLAIMS if each.page == page and each.runs and is_recorded(each)]
        own = {id(found) for each in mine for run in each.runs[:1] if (found := recorded(run))}
        if not own:
            continue
        others = [run for found in recordings(module.id) for run in found[1:] if id(found) not in own]
        assert not others or any(
            not judge(each.claim, each.claim_runs[0], lambda _, run=run: run).agrees
            for run in others
            for each in mine
        ), page


@of_modules
def test_every_page_that_runs_claims_something(module: Module) -> None:
    pages_with = {each.step for each in CLAIMS if each.module == module.id and each.runs}
    running = {step.id for step in module.steps if step.experiments}
    assert running - pages_with == set()


def test_terms_lead_to_the_page_that_explains_them() -> None:
    assert COURSE.root
    found = {term.title: term for term in glossary(COURSE.root)}
    assert found["round-trip time, RTT"].page.partition("/")[2]
    assert found["stream"].page.endswith("/what-a-stream-is")
    assert len(found) >= 12


def test_loading_the_course_imports_nothing_heavy() -> None:
    code = "import sys, tcptutor.course as c; c.load(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"textual", "rich", "asyncio", "mininet", "pyroute2", "plotext", "tcptutor.analysis"} & set(
        loaded.split()
    )
