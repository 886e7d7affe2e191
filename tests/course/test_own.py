"""Pages with variants: what stands on them, what is wrong with their lists, and who has which."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from msgspec import structs

from tcptutor.authoring.lint import lint
from tcptutor.authoring.page_claims import page_claims
from tcptutor.base.errors import ContentError
from tcptutor.course import load, personal
from tcptutor.course.outline import pages
from tcptutor.course.step import Step
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.marking import grade_hand_in
from tcptutor.run import Run
from tcptutor.run import load as load_run
from tcptutor.spec import Experiment
from tests.grading.evidence.doer import Doer, right
from tests.grading.evidence.student import KEY, LESSONS, RUNS

OWN = """
[variants]
loss = ["1 %", "2 %", "4 %"]
mean = ["1.6 Mbit/s", "1.1 Mbit/s", "0.8 Mbit/s"]
"""
PAGE = f"""+++
title = "Ran"
path = "essential"
after_run = "The formula gives **{{variant.mean}}** at {{variant.loss}}."
{OWN}
[[claim]]
text = "{{variant.mean}}"
quantity = "mathis"

[predict]
prompt = "What will it reach at {{variant.loss}}?"
hints = ["Think of the loss.", "Mathis has a formula."]

[experiment]
name = "lossy"
set = {{ loss = "{{variant.loss}}" }}
+++

One in so many is lost: {{variant.loss}}.
"""


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    shutil.copytree(LESSONS, tmp_path / "lessons")
    (tmp_path / "lessons/01-small/02-ran.md").write_text(PAGE)
    return tmp_path / "lessons"


def _ran(lessons: Path) -> Step:
    return load(lessons).modules[0].steps[1]


def _told(step: Step) -> tuple[str, str, float, str]:
    assert step.experiment is not None
    return step.prose, step.after_run, step.experiment.experiment.path.loss, step.claims[0].text


def test_each_variant_is_of_one_piece(lessons: Path) -> None:
    step = _ran(lessons)
    found = [_told(each) for each in (step, *step.variants)]
    for told, loss, mean in zip(found, (1, 2, 4), ("1.6", "1.1", "0.8"), strict=True):
        assert told == (
            f"One in so many is lost: {loss} %.",
            f"The formula gives **{mean} Mbit/s** at {loss} %.",
            loss / 100,
            f"{mean} Mbit/s",
        )


def test_who_is_in_no_course_has_the_page_s_own(lessons: Path) -> None:
    course = load(lessons)
    assert course.for_student("") is course
    assert _ran(lessons).for_student("small", "") == _ran(lessons)


def test_students_have_each_of_them_and_the_same_one_always(lessons: Path) -> None:
    course, step = load(lessons), _ran(lessons)
    found = Counter[float]()
    for number in range(300):
        identity = personal.identity(KEY.code, f"student {number}")
        own = course.for_student(identity).modules[0].steps[1]
        assert own == course.for_student(identity).modules[0].steps[1] == step.for_student("small", identity)
        assert own.experiment is not None
        found[own.experiment.experiment.path.loss] += 1
    assert set(found) == {0.01, 0.02, 0.04}
    assert min(found.values()) > 60


def test_sweeps_have_seeds_of_their_own() -> None:
    course = load(LESSONS)
    seeds = set()
    for number in range(20):
        swept = course.for_student(personal.identity(KEY.code, f"{number}")).modules[0].steps[2].sweep
        assert swept is not None
        assert len({each.seed for each in swept.experiments}) == 1
        seeds.add(swept.experiments[0].seed)
    assert len(seeds) == 20


def test_claims_are_judged_of_every_variant(lessons: Path) -> None:
    found = [each for each in page_claims(lessons, pages(lessons)) if each.step == "ran"]
    assert [each.text for each in found] == ["1.6 Mbit/s", "1.1 Mbit/s", "0.8 Mbit/s"]
    assert [each.claim_runs[0].of.path.loss for each in found if each.claim_runs[0].of] == [0.01, 0.02, 0.04]
    assert len({each.line for each in found}) == 1


def test_the_linter_looks_at_every_variant(lessons: Path) -> None:
    clean = lint(lessons)
    page = lessons / "01-small/02-ran.md"
    page.write_text(PAGE.replace('"0.8 Mbit/s"]', '"8 Mbit/s"]'))
    (wrong,) = set(lint(lessons)) - set(clean)
    assert "8 Mbit/s" in wrong


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"4 %"]', "]", "variants.mean: 3 values, but 2 in the first list: give every list the same length"),
        ("{variant.mean}", "{variant.men}", "no list 'men': did you mean mean?"),
        (OWN, "", "no list 'loss'"),
        ("One in so many", "[variants] One {variant.} in", "no list ''"),
        ("mean = [", 'other = ["a", "b", "c"]\nmean = [', "{variant.other} is not used on the page"),
        ('"4 %"', r'"4 \" %"', "variants.loss: a value has a quote"),
        ("loss = [", "Loss = [", "variants.Loss: is not a valid name"),
        ('["1 %", "2 %", "4 %"]', '["1 %"]', "variants.loss: 1 values: give 2 to 8"),
    ],
)
def test_lists_that_do_not_fit_are_told(lessons: Path, old: str, new: str, said: str) -> None:
    assert old in PAGE
    (lessons / "01-small/02-ran.md").write_text(PAGE.replace(old, new))
    with pytest.raises(ContentError) as caught:
        load(lessons)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_page_with_a_network_by_hand_has_no_variants(lessons: Path) -> None:
    page = lessons / "01-small/05-by-hand.md"
    text = page.read_text().replace("\n\n[shell]", '\n\n[variants]\nx = ["1", "2"]\n\n[shell]')
    page.write_text(text.replace("Type this", "Type {variant.x}"))
    with pytest.raises(ContentError, match="cannot have variants"):
        load(lessons)


def test_a_run_with_another_student_s_settings_is_refused(lessons: Path, tmp_path: Path) -> None:
    """It has the seed of the student, and the settings of another variant."""
    course, step = load(lessons), _ran(lessons)
    own = step.for_student("small", personal.identity(KEY.code, "ada"))
    outcomes = []
    for number, variant in enumerate((step, *step.variants)):
        (module,) = course.modules
        steps = tuple(
            structs.replace(variant, variants=()) if each.id == step.id else each for each in module.steps
        )
        other = structs.replace(course, modules=(structs.replace(module, steps=steps),))
        one = Doer(other, tmp_path / f"{number}", right, _adas, student="ada", code=KEY.code)
        one.does("small/ran")
        with open_hand_in(one.hands_in()) as hand_in:
            found = grade_hand_in(hand_in, course, KEY.code)
        one.journal.close()
        mark = next(mark for mark in found.marks if mark.activity == "experiment")
        outcomes.append(mark.reason)
        assert ("other settings" in mark.reason) == (_told(variant) != _told(own))
    assert sum("other settings" in reason for reason in outcomes) == 2


def _adas(_: Experiment) -> Run:
    return load_run(RUNS / "ada.tcprun")


def _beside(lessons: Path, page: str) -> Path:
    """A page after the one with variants, whose run stands beside that page's."""
    page = page.replace('title = "Ran"', 'title = "After"').replace(
        "[experiment]", '[experiment]\ncompare_with = "ran"'
    )
    path = lessons / "01-small/03-after.md"
    for each in sorted(lessons.glob("01-small/[0-9]*.md"), reverse=True)[:-2]:
        each.rename(each.with_name(f"{int(each.name[:2]) + 1:02}{each.name[2:]}"))
    path.write_text(page)
    return path


def test_pages_whose_runs_stand_beside_each_other_are_drawn_together(lessons: Path) -> None:
    _beside(lessons, PAGE.replace("title = ", 'same_variant_as = "ran"\ntitle = '))
    assert not any("same_variant_as" in line for line in lint(lessons))
    course, found = load(lessons), set()
    for number in range(30):
        steps = course.for_student(personal.identity(KEY.code, f"{number}")).modules[0].steps
        assert steps[2].id == "after"
        assert _told(steps[1]) == _told(steps[2])
        found.add(_told(steps[1]))
    assert len(found) == 3


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title", "title", "variants must match those of 'ran': set same_variant_as = 'ran'"),
        (
            "title",
            'same_variant_as = "read"\ntitle',
            "must name an earlier page with the same number of variants",
        ),
        (
            "title",
            'same_variant_as = "nowhere"\ntitle',
            "must name an earlier page with the same number of variants",
        ),
    ],
)
def test_the_linter_tells_pages_that_are_not_drawn_together(
    lessons: Path, old: str, new: str, said: str
) -> None:
    clean = lint(lessons)
    _beside(lessons, PAGE.replace(old, new, 1))
    assert any(said in line for line in set(lint(lessons)) - set(clean))
