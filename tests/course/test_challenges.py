"""Challenges: what a page says of one, how runs are judged by it, and that each of the course can be reached at par."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from tcptutor.authoring.lint import lint
from tcptutor.authoring.page_claims import TRIAL_SEEDS, page_trials
from tcptutor.backends import replay
from tcptutor.base import places
from tcptutor.base.errors import ContentError, UsageError
from tcptutor.course import load
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activity import MarkContext
from tcptutor.course.measurements import MeasuredRun
from tcptutor.course.outline import pages
from tcptutor.course.page_record import ActivityRecord, PageRecord, Response
from tcptutor.journal import Journal
from tcptutor.run import Fidelity, Run
from tcptutor.run import load as load_run
from tcptutor.spec import Experiment

from .conftest import Edit, only, page

CHALLENGES = {
    f"{module.id}/{step.id}": step.challenge
    for module in load().modules
    for step in module.steps
    if step.challenge is not None
}
FULL = "tcp-basics/full-and-no-wait"
EIGHT = "parallel-streams/two-beat-eight"
FILE = page("full-and-no-wait", "01-tcp-basics")
LEAST = 4
"""Challenges of each module."""


@cache
def recorded(name: str, key: str) -> Run:
    return load_run(replay.recordings_folder() / name / f"{key}.tcprun")


def response(challenge: ChallengeActivity, run: Run, start: Run | None = None) -> Response:
    given = challenge.response_of(run.experiment)
    mark = challenge.mark(given, MarkContext(run=run, start=start))
    return Response(given, mark.correct, value=mark.value)


def test_each_module_has_some() -> None:
    for module in load().modules:
        if not any(step.experiments for step in module.steps):
            continue  # done by hand alone
        assert sum(step.challenge is not None for step in module.steps) >= LEAST, module.id


@pytest.mark.parametrize("name", CHALLENGES)
def test_it_is_not_reached_at_first_and_reached_at_par_by_its_solution(name: str) -> None:
    challenge = CHALLENGES[name]
    start, solved = recorded(name, "start"), recorded(name, "solution")
    first = response(challenge, start, start)
    assert (first.correct, first.value) == (False, 0)
    best = response(challenge, solved, start)
    assert (best.correct, best.value) == (True, challenge.par)
    record = ActivityRecord().with_response(first).with_response(best)
    assert challenge.describe_status(record).startswith("reached at par")


def test_the_command_lint_tries_start_and_solution_with_several_seeds() -> None:
    root = places.lessons()
    first, streams, mtu, second = page_trials(root, pages(root, EIGHT))
    assert (streams.knobs, mtu.knobs, mtu.expectation) == (("streams",), ("mtu",), "does not reach it")
    assert mtu.text.startswith("mtu alone: ")
    assert (first.page, first.expectation, second.expectation) == (EIGHT, "does not reach it", "reaches it")
    assert (root.parent / first.file).read_text(encoding="utf-8").split("\n")[first.line - 1] == "[challenge]"
    assert len({run.seed for run in second.runs}) == TRIAL_SEEDS

    def find(experiment: Experiment) -> MeasuredRun:
        return MeasuredRun(recorded(EIGHT, "start" if experiment.flows.streams == 8 else "solution"))

    for trial in (first, second):
        assert all(judgement.agrees for judgement in trial.judge(find))
    assert not any(each.agrees for each in second.judge(lambda _: MeasuredRun(recorded(EIGHT, "start"))))

    def failed(_: Experiment) -> MeasuredRun:
        raise UsageError("the guest ended")

    assert {each.found for each in first.judge(failed)} == {"the guest ended"}


def test_a_run_is_marked_by_its_own_knobs() -> None:
    challenge, start, solved = CHALLENGES[FULL], recorded(FULL, "start"), recorded(FULL, "solution")
    assert challenge.response_of(solved.experiment) == "window = 100 kB; queue = 500 kB"
    states = challenge.judge(start)
    assert [state.reached for state in states] == [True, False]
    assert states[1].found.endswith("ms")
    with pytest.raises(UsageError, match="other settings"):
        challenge.mark(challenge.response_of(start.experiment), MarkContext(run=solved))
    with pytest.raises(UsageError, match="press r to run it"):
        challenge.mark("", MarkContext())
    with pytest.raises(UsageError):
        challenge.mark(("a",), MarkContext(run=solved))


def test_a_run_that_the_lab_doubts_does_not_count() -> None:
    challenge, solved = CHALLENGES[FULL], recorded(FULL, "solution")
    doubted = replace(solved, fidelity=Fidelity(status="suspect", reasons=["the host was busy"]))
    with pytest.raises(UsageError, match=r"suspect.*the host was busy.*run it again"):
        challenge.mark(challenge.response_of(solved.experiment), MarkContext(run=doubted))


def test_what_is_relative_to_the_first_run_waits_for_it() -> None:
    challenge, start, solved = CHALLENGES[EIGHT], recorded(EIGHT, "start"), recorded(EIGHT, "solution")
    assert challenge.needs_start_run
    alone = challenge.judge(solved)
    assert not alone[1].reached
    assert "nothing changed" in alone[1].found
    beside = challenge.judge(solved, start)
    assert beside[1].reached
    assert float(beside[1].found) == pytest.approx(_throughput(solved) / _throughput(start), rel=0.01)


def _throughput(run: Run) -> float:
    return sum(flow.throughput_bps for flow in run.flows)


def test_the_best_score_counts_and_a_reached_one_stays() -> None:
    challenge = CHALLENGES[FULL]
    record = ActivityRecord()
    assert challenge.describe_status(record) == "open"
    record = record.with_response(Response("two knobs", correct=True, value=2.0))
    assert challenge.describe_status(record) == "reached with 2 changes, par is 1"
    record = record.with_response(Response("none", correct=False, value=0.0))
    assert challenge.describe_status(record) == "reached with 2 changes, par is 1"
    record = record.with_response(Response("one", correct=True, value=1.0))
    assert challenge.describe_status(record) == "reached at par: 1 change"
    assert challenge.is_done(PageRecord(activities={challenge.id: record}))


def test_the_journal_keeps_it(tmp_path: Path) -> None:
    challenge, (module, step) = CHALLENGES[FULL], FULL.split("/")
    journal = Journal.open(tmp_path / "journal.db")
    for key in ("start", "solution", "start"):
        journal.respond(module, step, challenge.id, response(challenge, recorded(FULL, key)))
    journal.close()
    journal = Journal.open(tmp_path / "journal.db")
    record = journal.page(module, step).activity(challenge.id)
    journal.close()
    assert (record.attempts, record.best) == (3, 1.0)
    assert challenge.describe_status(record) == "reached at par: 1 change"
    assert record.latest is not None
    assert challenge.knobs_of(record.latest.answer) == challenge.start


def test_knobs_keep_to_their_bounds_and_do_not_move_each_other() -> None:
    challenge = CHALLENGES["tcp-basics/how-far"]
    delay, rate = challenge.knobs
    first = challenge.experiment
    assert delay.read("0.05 s", first) == "50 ms"
    with pytest.raises(UsageError, match="delay: 1 s is out of bounds: choose 1 ms to 200 ms"):
        delay.read("1 s", first)
    with pytest.raises(UsageError, match="rate"):
        rate.read("fast", first)
    turned = challenge.experiment_with({"rate": "50 Mbit/s"})
    assert challenge.changed_knobs(challenge.values(turned)) == {"rate": "50 Mbit/s"}
    full = CHALLENGES[FULL]
    # The file has window and queue in BDP.
    assert full.experiment_with({"window": "2 BDP"}).hosts.window == 200_000
    assert full.changed_knobs(full.values(full.experiment_with({"window": "2 BDP"}))) == {"window": "200 kB"}


REFUSED = {
    "no such knob": (
        'name = "queue"\nlow',
        'name = "quue"\nlow',
        "challenge.knob[2].name",
        "did you mean queue",
    ),
    "bounds turned round": ('low = "3 kB"', 'low = "900 kB"', "challenge.knob[2].low", "not below high"),
    "both": (
        'low = "3 kB"',
        'low = "3 kB"\nchoices = ["3 kB"]',
        "challenge.knob[2].choices",
        "or low and high",
    ),
    "start out of bounds": ('high = "400 kB"', 'high = "300 kB"', "challenge.knob[1].low", "out of bounds"),
    "no such figure": ("run.max-rtt", "run.maximal", "challenge.goal[2].when.run.maximal", "did you mean"),
    "no value": ('"<= 45 ms"', '"<= 45"', "challenge.goal[2].when.run.max-rtt", "45"),
    "nothing of the run": (
        "run.max-rtt",
        "path.delay",
        "challenge.goal[2].when",
        "has no condition on the run",
    ),
    "relative to no number": (
        'when = { run.max-rtt = "<= 45 ms" }',
        'when = { run.limited-by = "bottleneck" }\nratio_to = "start"',
        "challenge.goal[2].when.run.limited-by",
        "not a number",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_page_that_cannot_be_judged_is_refused_with_file_and_key(case: str, edit: Edit) -> None:
    old, new, key, reason = REFUSED[case]
    root = edit(FILE, old, new)
    with pytest.raises(ContentError) as caught:
        load(root)
    assert FILE in str(caught.value)
    assert key in str(caught.value)
    assert reason in str(caught.value)


LINTED = {
    "par of another solution": ("par = 1", "par = 2", "challenge.par", "solution changes 1 knob"),
    "solution out of bounds": (
        'window = "100 kB" }\nhints',
        'window = "9 MB" }\nhints',
        "challenge.solution.window",
        "bounds",
    ),
    "no knob of that name": (
        '{ window = "100 kB" }\nhints',
        "{ mtu = 9000 }\nhints",
        "challenge.solution.mtu",
        "knob",
    ),
    "no change": ('{ window = "100 kB" }\nhints', '{ window = "400 kB" }\nhints', "challenge.par", "0 knobs"),
}


@pytest.mark.parametrize("case", LINTED)
def test_the_linter_sees_what_no_student_should(case: str, edit: Edit) -> None:
    old, new, key, reason = LINTED[case]
    found = [line for line in lint(only(edit(FILE, old, new), FILE)) if key in line]
    assert found
    assert reason in found[0]
