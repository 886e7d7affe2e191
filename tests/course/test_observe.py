"""Observe: the student's own run decides which choice is right, on the page of a run and of a sweep."""

from __future__ import annotations

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.authoring.observations import recorded_context
from tcptutor.authoring.page_observations import page_observations
from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.course import load
from tcptutor.course.activities.observe import Observation, Observe
from tcptutor.course.activity import MarkContext
from tcptutor.course.claim import Denominator, RunCondition
from tcptutor.course.measurements import MeasuredRun
from tcptutor.course.outline import pages
from tcptutor.course.page_record import ActivityRecord, PageRecord, Response
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tests.chosen import chosen

from .conftest import EXAMPLES, Edit, only, page, whole_run

CURVE = load(EXAMPLES).modules[1].steps[0]
WINDOW = page("a-larger-window", "01-tcp-basics")


def observe(*choices: tuple[RunCondition, ...]) -> Observe:
    return Observe(
        id="seen",
        prompt="What did your run show?",
        choices=tuple(
            Observation(text=f"Choice {number}", feedback=f"Look at sign {number}.", when=when)
            for number, when in enumerate(choices, 1)
        ),
    )


NOTHING = RunCondition(quantity="retransmissions", value="0")
MANY = RunCondition(quantity="retransmissions", relation="above", value="10")
FAST = RunCondition(quantity="throughput", relation="above", value="90 Mbit/s")
LOSSY = MarkContext(run=whole_run())


def test_the_run_decides_and_the_feedback_names_its_figures() -> None:
    asked = observe((NOTHING,), (MANY,), (MANY, FAST))
    wrong, right, half = (asked.mark(chosen(asked, index), LOSSY) for index in range(3))
    assert (wrong.correct, right.correct, half.correct) == (False, True, False)
    assert wrong.feedback == "Look at sign 1."
    flows = LOSSY.run.flows if LOSSY.run else []
    assert wrong.evidence.startswith(f"Your run: {flows[0].retransmits} retransmissions, a throughput of ")


def test_a_figure_of_a_part_of_the_run_is_named_with_its_flow_and_time() -> None:
    early = RunCondition(quantity="losses", value="0", flow=1, start="1 s", end="2 s")
    asked = observe((early,), (MANY,))
    assert "for flow 1 from 1 s until 2 s" in asked.mark(chosen(asked, 0), LOSSY).evidence


def test_what_did_not_happen_holds_for_no_choice_and_is_said() -> None:
    calm = Run(
        **{name: getattr(whole_run(), name) for name in Run.__struct_fields__}
        | {"samples": whole_run().samples[:3]}
    )
    lost = RunCondition(quantity="first-loss", relation="below", value="5 s")
    asked = observe((lost,), (FAST,))
    mark = asked.mark(chosen(asked, 0), MarkContext(run=calm))
    assert mark.correct is None
    assert "no loss event, " in mark.evidence


def test_an_empty_response_skips_and_a_run_has_to_be_there() -> None:
    asked = observe((NOTHING,), (MANY,))
    assert asked.mark(()).correct is None
    with pytest.raises(UsageError, match="press r"):
        asked.mark(chosen(asked, 0))
    for answer, done in (((), False), (chosen(asked, 0), True)):
        record = ActivityRecord().with_response(Response(answer, None))
        assert asked.is_done(PageRecord(visited=True, activities={"seen": record})) == done


@pytest.mark.parametrize("measured", [[1e6, 1e6, 1e6, 1.1e6, 1e6, 1e6], [1e6, 2e6, 3e6, 3.8e6, 3.8e6, 3.8e6]])
def test_a_sweep_is_marked_by_its_points(measured: list[float]) -> None:
    (asked,) = CURVE.activities_of(Observe)
    assert CURVE.sweep is not None
    context = MarkContext(curve=CURVE.sweep.curve([(each,) for each in measured]))
    right = 0 if measured[3] < 2e6 else 2
    assert [asked.mark(chosen(asked, index), context).correct for index in range(3)] == [
        index == right for index in range(3)
    ]
    assert (
        "at window 20 kB, a throughput of 1 Mbit/s at window 5 kB"
        in asked.mark(chosen(asked, 0), context).evidence
    )


def test_every_observation_of_the_course_has_its_recording_in_each_variant() -> None:
    for module in load().modules:
        for step in module.steps:
            for variant in (step, *step.variants):
                for asked in variant.activities_of(Observe):
                    context = recorded_context(variant, module.id)
                    assert context is not None, f"{module.id}/{step.id}: python -m tests.recorded"
                    assert len(asked.outcome(context).holding) == 1


def test_the_command_lint_tries_an_observation_with_several_seeds() -> None:
    root = places.lessons()
    first, second = page_observations(root, pages(root, "congestion-algorithms/the-sawtooth"))
    text = (root.parent / first.file).read_text(encoding="utf-8").split("\n")
    assert text[first.line - 1] == 'kind = "observe"'
    assert len({run.seed for run in first.runs}) == 2
    assert first.runs[0].path.rate != second.runs[0].path.rate
    context = recorded_context(first.variant, "congestion-algorithms")
    assert context is not None
    assert context.run is not None
    assert all(each.agrees for each in first.judge(lambda _: MeasuredRun(context.run)))

    def failed(_: Experiment) -> MeasuredRun:
        raise UsageError("the guest ended")

    assert {each.found for each in first.judge(failed)} == {"the guest ended"}


BROKEN = {
    "none holds": (
        'value = "105 ms" },',
        'value = "99 ms" },',
        "none of the choices hold on the recorded run",
    ),
    "two hold": (
        'relation = "above", value = "20 Mbit/s" }]',
        'relation = "above", value = "1 Mbit/s" }]',
        "1 and 4 of the choices hold",
    ),
    "no unit": ('value = "105 ms" },', 'value = "105" },', "choice[1].when.value"),
    "a second run": (
        '{ quantity = "retransmissions", value = "0" }',
        '{ quantity = "retransmissions", value = "0", set = { window = "1 MB" } }',
        "choice[1].when.set",
    ),
    "known before": (
        '{ quantity = "retransmissions", value = "0" }',
        '{ quantity = "bdp", value = "1 MB" }',
        "choice[1].when.quantity",
    ),
}


@pytest.mark.parametrize(("old", "new", "said"), BROKEN.values(), ids=BROKEN)
def test_the_linter_tries_the_choices_on_the_recorded_run(edit: Edit, old: str, new: str, said: str) -> None:
    found = lint(only(edit(WINDOW, old, new), WINDOW))
    assert any(said in line for line in found), found


def test_a_choice_is_right_by_its_conditions_alone() -> None:
    ratio = RunCondition(
        quantity="max-rtt", relation="above", value="1", ratio_to=Denominator(quantity="min-rtt")
    )
    asked = observe((ratio,), (NOTHING,))
    assert asked.mark(chosen(asked, 0), LOSSY).correct
    never = Observation(text="Always", feedback="It says so here.", correct=True, when=(MANY,))
    problem = Observe(id="q", prompt="?", choices=(never, never)).contradiction()
    assert problem is not None
    assert problem[0] == "choice[1].correct"
