"""Question banks: all of the course comes back out of both formats, and is marked there as the course marks it."""

from __future__ import annotations

import base64
import html
import io
import re
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from msgspec import structs

from tcptutor.base import places
from tcptutor.base.errors import UnitError
from tcptutor.commands.bank import drawn_chart
from tcptutor.course import load as load_course
from tcptutor.course.activities.choice import Alternative, MultipleChoice, Order, OrderedEvent, SingleChoice
from tcptutor.course.activities.numeric import KnownMistake, Numeric
from tcptutor.course.activity import Question
from tcptutor.course.outline import Course, Module
from tcptutor.course.step import Step
from tcptutor.figures.kinds import ANY_FIGURE
from tcptutor.grading.banks import pages
from tcptutor.grading.banks.gift import format_gift
from tcptutor.grading.banks.items import (
    BY_HAND,
    NOT_ALONE,
    NOT_RECORDED,
    OWN_RUN,
    Bank,
    BankChoices,
    BankItem,
    BankNumber,
    BankOrder,
    Exam,
    build_bank,
    draw_variants,
)
from tcptutor.grading.banks.pages import RecordedPages
from tcptutor.grading.banks.qti import write_qti
from tcptutor.grading.evidence.keys import new_key, write_key
from tcptutor.run import load as load_run
from tests.chosen import chosen
from tests.command import here
from tests.grading import gift_reader, qti_reader
from tests.grading.gift_reader import GiftQuestion

VARIANTS = 3
CHART = b"\x89PNG\r\n\x1a\n, for one"
ODD = r"a=b ~c #d {e} f:g \h \n // -> #### %50% ::x:: <b>&amp;</b> ’ “ü”"


@cache
def course() -> Course:
    return load_course()


def step_of(module: str, step: str) -> Step:
    """The page MODULE/STEP of the course."""
    return next(each for of in course().modules if of.id == module for each in of.steps if each.id == step)


@cache
def whole() -> Bank:
    """That of all of the course, with a chart that takes no time to draw."""
    return build_bank(course().title, course().modules, RecordedPages(lambda _: CHART), VARIANTS)


class Asked(NamedTuple):
    """An item, and the question it was made from, with its numbers."""

    item: BankItem
    question: Question


@cache
def asked() -> tuple[Asked, ...]:
    questions = {
        f"{module.id}/{step.id}/{question.id}": question
        for module in course().modules
        for step in module.steps
        for question in step.activities_of(Question)
    }
    found = []
    for group in (group for module in whole().modules for group in module.groups):
        question = questions[group.id]
        posed = list(draw_variants(group.id, question, VARIANTS)) if question.draw_numbers("") else [question]
        assert len(posed) == len(group.items)
        found += [
            Asked(item, each)
            for item, each in zip(group.items, posed, strict=True)
            if isinstance(each, Question)
        ]
    return tuple(found)


@cache
def read_gift() -> tuple[GiftQuestion, ...]:
    return tuple(gift_reader.questions(format_gift(whole())))


def package(of: Bank) -> bytes:
    out = io.BytesIO()
    write_qti(of, out)
    return out.getvalue()


@cache
def whole_package() -> bytes:
    return package(whole())


def qti_items(content: bytes) -> dict[str, ET.Element]:
    """By title; the course has no two alike."""
    found: dict[str, ET.Element] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        for name in opened.namelist():
            if name.endswith(".xml") and "/" in name:
                root = qti_reader.read(opened.read(name))
                items = {item.get("title", ""): item for item in root.iter("item")}
                assert not items.keys() & found.keys()
                found |= items
    return found


@cache
def read_qti() -> dict[str, ET.Element]:
    return qti_items(whole_package())


def of_kind(kind: type) -> list[Asked]:
    return [each for each in asked() if isinstance(each.item.answers, kind)]


def told(fragment: str) -> str:
    """HTML as it is read."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", fragment)).split())


def data(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def small(*questions: Question) -> Bank:
    step = Step(id="page", title=ODD, prose="Some prose.", activities=questions)
    module = Module(id="small", number=1, title=ODD, objectives=(), sources=(), steps=[step])
    return build_bank("Small", [module], RecordedPages(None), VARIANTS)


# What is asked


def test_every_question_is_in_the_bank_or_told_to_be_left_out() -> None:
    questions = [
        (step, question)
        for module in course().modules
        for step in module.steps
        for question in step.activities_of(Question)
    ]
    own = [question for _, question in questions if question.against_run]
    by_hand = [
        question for step, question in questions if step.shell is not None and question.kind != "read-off"
    ]
    of_page = [question for step, question in questions if step.shell is None and not question.bank]
    assert own and by_hand and of_page
    assert whole().omitted == {OWN_RUN: len(own), BY_HAND: len(by_hand), NOT_ALONE: len(of_page)}
    assert whole().questions + len(own) + len(by_hand) + len(of_page) == len(questions)


def test_each_kind_is_there() -> None:
    for kind in (SingleChoice, MultipleChoice, Numeric, Order):
        assert any(isinstance(each.question, kind) for each in asked())


def test_titles_and_ids_are_of_one_item_alone() -> None:
    items = [each.item for each in asked()]
    assert len({item.id for item in items}) == len({item.title for item in items}) == len(items)


def test_drawn_questions_come_with_draws_that_differ_and_no_placeholder_is_left() -> None:
    drawn = [group for module in whole().modules for group in module.groups if len(group.items) > 1]
    assert len(drawn) > 30
    for group in drawn:
        assert len({item.stem for item in group.items}) == len(group.items) == VARIANTS
    for each in asked():
        assert not re.search(r"\{\w", each.item.stem), each.item.id


def test_no_more_draws_than_toursare() -> None:
    question = Numeric(id="q", prompt="{n}?", answer="n", unit="count", tolerance=0, draw={"n": (1, 2)})
    (group,) = small(question).modules[0].groups
    assert {told(item.stem).partition("?")[0] for item in group.items} == {"1", "2"}


def test_the_same_draws_each_time() -> None:
    assert build_bank(course().title, course().modules[:1], RecordedPages(None), VARIANTS).modules == (
        build_bank(course().title, course().modules[:1], RecordedPages(None), VARIANTS).modules
    )


def test_what_is_asked_about_a_run_shows_it() -> None:
    """What was measured, the chart, and the page's text about it; and the page's other questions do without."""
    for each in asked():
        module, page, _ = each.item.id.split("/")[:3]
        step = next(
            step for one in course().modules if one.id == module for step in one.steps if step.id == page
        )
        assert ("<table>" in each.item.stem) == bool(each.question.about_run), each.item.id
        assert ("chart:" in each.item.stem) == bool(each.question.about_run and step.experiment)
        if each.question.about_run:
            first, *_ = re.split(r"[.*]", step.after_run.split("![")[0].strip("* \n`"))
            assert told(html.escape(first)) in told(each.item.stem), each.item.id
    assert set(re.findall(r"chart:([^\"]+)", "".join(each.item.stem for each in asked()))) == set(
        whole().charts
    )


POINTERS = re.compile(
    r"\b(?:your (?:own )?(?:run|sweep|chart|curve|prediction)|(?:this|that|deeper|other) page|the page before)s?\b"
    r"|\btcptutor\b|--set\b|\bcommit to a number\b|\bpredict (?:the|to)\b|\bthe hints\b|\bduring the run, watch\b",
    re.IGNORECASE,
)


def test_no_text_of_a_bank_speaks_of_the_app_a_page_a_prediction_or_a_command() -> None:
    titles = {f"“{step.title}”" for module in course().modules for step in module.steps}
    for question in read_gift():
        answers = [f"{each.text} {each.feedback}" for each in question.answers]
        text = told(" ".join([question.text, *answers, question.feedback]))
        found = POINTERS.search(text)
        assert not found, (question.name, found[0])
        assert not [title for title in titles if title in text], question.name
        assert text.count("(") - text.count(")") == 0, question.name
    in_qti = " ".join(told(text) for item in read_qti().values() for text in item.itertext())
    assert not POINTERS.search(in_qti)


def test_a_question_without_its_page_points_at_no_drawing_or_table() -> None:
    for item, question in asked():
        if not question.about_run:
            text = told(f"{item.stem} {item.explanation} {msgspec.json.encode(item.answers).decode()}")
            found = re.search(r"\bthe (?:drawing|picture|table)\b|\b(?:output|list|text) above\b", text)
            assert not found, (item.id, found[0])


def test_feedback_keeps_the_sentences_that_do_not_point_at_the_page() -> None:
    wrong = Alternative(
        text="b", feedback="No. Look at your run: it fell.", explanation="Press `r`. Rates add."
    )
    choices = (Alternative(text="a", correct=True, feedback="Yes."), wrong)
    (group,) = small(SingleChoice(id="q", prompt="?", choices=choices)).modules[0].groups
    answers = group.items[0].answers
    assert isinstance(answers, BankChoices)
    assert {each.feedback.strip() for each in answers.choices} == {"Yes.", "No. Rates add."}


def test_an_exam_has_numbers_that_only_its_key_can_draw() -> None:
    def drawn(exam: Exam | None) -> dict[str, list[str]]:
        made = build_bank(course().title, course().modules[:1], RecordedPages(None), VARIANTS, exam)
        groups = (group for module in made.modules for group in module.groups if len(group.items) > 1)
        return {group.title: [item.stem for item in group.items] for group in groups}

    key = new_key()
    midterm = drawn(Exam("midterm", key.exam_seed))
    others = drawn(None), drawn(Exam("final", key.exam_seed)), drawn(Exam("midterm", new_key().exam_seed))
    assert drawn(Exam("midterm", key.exam_seed)) == midterm
    for other in others:
        assert other.keys() == midterm.keys()
        assert sum(other[title] == midterm[title] for title in midterm) <= len(midterm) // 4


def test_two_exams_can_be_imported_side_by_side() -> None:
    key = new_key()
    made = [
        build_bank("T", course().modules[:1], RecordedPages(None), VARIANTS, exam)
        for exam in (None, Exam("midterm", key.exam_seed), Exam("final", key.exam_seed))
    ]
    idents = [item.get("ident") for bank in made for item in qti_items(package(bank)).values()]
    assert len(set(idents)) == len(idents)
    categories = [{each.category for each in gift_reader.questions(format_gift(bank))} for bank in made]
    assert not categories[0] & categories[1] and not categories[1] & categories[2]


def test_a_run_that_is_not_recorded_is_not_asked_about(tmp_path: Path) -> None:
    made = build_bank("T", course().modules, RecordedPages(None, tmp_path), VARIANTS)
    about = sum(
        bool(question.about_run and not question.against_run)
        for module in course().modules
        for step in module.steps
        for question in step.activities_of(Question)
    )
    assert made.omitted[NOT_RECORDED] == about > 50
    assert made.questions == whole().questions - about


def test_a_page_tells_what_its_run_measured() -> None:
    """The recorded run of the page, beside the one that it is compared with."""
    (item,) = [each.item for each in asked() if each.item.id.endswith("hystart/which-sign")]
    rows = {
        cells[0]: cells[1:]
        for row in re.findall(r"<tr>(.*?)</tr>", item.stem)
        if (cells := [told(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)])
    }
    assert rows[""] == [step_of("congestion-algorithms", id).title for id in ("hystart", "slow-start")]
    assert "algorithm cubic" in rows["set to"][0] and "algorithm reno" in rows["set to"][1]
    (flow,) = load_run(places.assets() / "recorded/congestion-algorithms/hystart.tcprun").flows
    assert rows["retransmitted"][0] == f"{flow.retransmits}" != "0"


def test_a_page_of_a_sweep_tells_its_points_and_those_that_were_published() -> None:
    (item,) = [each.item for each in asked() if each.item.id.endswith("how-much-is-enough/longer-path")]
    measured, published = (
        [[told(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)] for row in rows]
        for rows in (
            re.findall(r"<tr>(.*?)</tr>", each)
            for each in re.findall(r"<table>(.*?)</table>", item.stem, re.DOTALL)
        )
    )
    assert measured[0] == ["window", "throughput, measured", "expected (receiver's window)"]
    sweep = step_of("tcp-basics", "how-much-is-enough").sweep
    assert sweep is not None
    assert [row[0] for row in measured[1:]] == list(sweep.values)
    assert measured[-1][2] == "38.3 Mbit/s"
    assert "times 40/1000" in published[0][1] and len(published) > 5


def test_a_chart_is_a_small_picture_and_the_same_each_time() -> None:
    module = next(module for module in course().modules if module.id == "tcp-basics")
    pages = [RecordedPages(drawn_chart).page(module, module.steps[1]) for _ in range(2)]
    assert pages[0] is not None and pages[0] == pages[1]
    ((name, content),) = pages[0].charts.items()
    assert content.startswith(b"\x89PNG\r\n\x1a\n") and 10_000 < len(content) < 100_000
    assert f'src="chart:{name}"' in pages[0].html


# GIFT


def test_gift_gives_back_every_question() -> None:
    assert len(read_gift()) == len(asked())
    by_name = {each.name: each for each in read_gift()}
    for item in (each.item for each in asked()):
        back = by_name[item.title]
        module, page, question, *draw = item.id.split("/")
        assert back.category == "/".join(["tcptutor", module, page, *([question] if draw else [])])
        assert back.text == pages.with_charts(item.stem, lambda name: data(whole().charts[name]))
        assert back.feedback.startswith(item.explanation.strip())
        match item.answers:
            case BankChoices() as choices:
                assert back.kind == ("multianswer" if choices.is_multiple else "multichoice")
                assert [(each.text, each.feedback) for each in back.answers] == [
                    (choice.text, choice.feedback) for choice in choices.choices
                ]
                assert [each.fraction > 0 for each in back.answers] == [
                    each.right for each in choices.choices
                ]
            case BankNumber() as number:
                assert back.kind == "numerical"
                right, *slips, wrong = back.answers
                assert (Decimal(right.text), right.fraction) == (number.value, 1)
                assert [(Decimal(each.text), each.fraction, each.feedback) for each in slips] == [
                    (slip.value, 0, slip.feedback) for slip in number.mistakes
                ]
                assert (right.feedback, wrong.feedback) == (number.right, number.wrong)
            case BankOrder() as order:
                assert back.kind == "match"
                assert [(each.text, each.feedback) for each in back.answers] == [
                    (event.text, str(event.place)) for event in order.events
                ]
                assert all(event.feedback in back.feedback for event in order.events)


def test_shares_of_choices_add_up() -> None:
    choices = [each for each in read_gift() if each.kind in ("multichoice", "multianswer")]
    for each in choices:
        shares = [answer.fraction for answer in each.answers]
        if each.kind == "multichoice":
            assert sorted(shares) == [0] * (len(shares) - 1) + [1]
            continue
        assert sum(share for share in shares if share > 0) == pytest.approx(1, abs=1e-6)
        if any(share < 0 for share in shares):
            assert sum(shares) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("right", range(1, 9))
def test_moodle_knows_the_shares(right: int) -> None:
    choices = tuple(
        Alternative(text=f"{number}", correct=number < right, feedback="So it is.") for number in range(10)
    )
    (back,) = gift_reader.questions(format_gift(small(MultipleChoice(id="q", prompt="?", choices=choices))))
    assert sum(each.fraction for each in back.answers) == pytest.approx(0, abs=1e-6)


# Marks


def marked(back: GiftQuestion, value: float) -> tuple[float, str]:
    """As Moodle marks a number: by the first answer that takes it."""
    for each in back.answers:
        if each.text == "*" or abs(value - float(each.text)) <= each.tolerance + 1e-9 * abs(value):
            return each.fraction, each.feedback
    raise AssertionError("all else is wrong")


def numbers() -> Iterator[tuple[GiftQuestion, ET.Element, Numeric, float, str]]:
    """Each with both forms, and a number on either side of what still counts, in the unit of the stem."""
    by_name = {each.name: each for each in read_gift()}
    for item, question in of_kind(BankNumber):
        assert isinstance(question, Numeric) and isinstance(item.answers, BankNumber)
        unit = re.findall(r"Give the answer in (\S+),", item.stem)
        edge = float(item.answers.value), question.tolerance
        values = [edge[0] * (1 + sign * edge[1] * near) for sign in (1, -1) for near in (0, 0.99, 1.01)]
        values += [float(slip.value) for slip in item.answers.mistakes]
        values += [edge[0] * factor for factor in (0.1, 2.7, 8)]
        for value in values:
            yield by_name[item.title], read_qti()[item.title], question, value, "".join(unit)


def test_numbers_are_marked_as_the_course_marks_them() -> None:
    looked_at = 0
    for back, item, question, value, unit in numbers():
        try:
            ours = question.mark(f"{value!r} {unit}".strip())
        except UnitError:
            assert question.unit == "count"  # in a course system it is a number as any other
            continue
        looked_at += 1
        fraction, feedback = marked(back, value)
        assert (fraction == 1) == ours.correct, (back.name, value)
        slips = {told(pages.inline(slip.feedback)) for slip in question.mistakes}
        if ours.feedback in slips or ours.correct:
            assert told(feedback) == told(pages.inline(ours.feedback)), (back.name, value)
        else:
            assert ours.feedback.endswith(question.feedback) or told(feedback) in slips
        outcome = qti_reader.answered(item, {"response1": {repr(value)}})
        assert (outcome.score == 100) == ours.correct, (back.name, value)
        if not ours.correct:
            assert any(told(pages.inline(question.feedback)) in told(each) for each in outcome.told)
    assert looked_at > 1000


def test_units_stand_in_the_stem() -> None:
    for item, question in of_kind(BankNumber):
        assert isinstance(question, Numeric)
        unit = question.answer.partition(" ")[2]
        assert told(item.stem).endswith(
            f"Give the answer in {unit}, as a number without the unit."
            if unit
            else f"Give the answer as a {'whole ' if question.unit == 'count' else ''}number."
        )


def test_an_order_is_never_listed_as_it_is_right() -> None:
    for item, question in of_kind(BankOrder):
        assert isinstance(item.answers, BankOrder) and isinstance(question, Order)
        places = [event.place for event in item.answers.events]
        assert places != sorted(places) == list(range(1, len(places) + 1))
        by_place = sorted(item.answers.events, key=lambda event: event.place)
        assert [event.text for event in by_place] == [pages.inline(each.text) for each in question.events]


# QTI


def test_qti_gives_back_every_question() -> None:
    assert len(read_qti()) == len(asked())
    for item in (each.item for each in asked()):
        back = read_qti()[item.title]
        stem = back.findtext("presentation/material/mattext") or ""
        assert (
            stem
            == f"<div>{pages.with_charts(item.stem, lambda name: f'%24IMS-CC-FILEBASE%24/charts/{name}')}</div>"
        )
        texts = [node.text or "" for node in back.iter("mattext")]
        assert item.explanation in texts
        meta = qti_reader.metadata(back)
        assert meta["points_possible"] == "1"
        ids = [node.get("ident", "") for node in back.iter("response_label")]
        assert all(int(each) < 2**31 for each in meta["original_answer_ids"].split(","))
        match item.answers:
            case BankChoices() as choices:
                assert meta["question_type"] == (
                    "multiple_answers_question" if choices.is_multiple else "multiple_choice_question"
                )
                assert meta["original_answer_ids"].split(",") == ids
                for choice in choices.choices:
                    assert choice.text in texts and f"<p>{choice.feedback}</p>" in texts
            case BankNumber() as number:
                assert meta["question_type"] == "numerical_question"
                wrong = qti_reader.answered(back, {"response1": {"-1"}}).told[-1]
                assert number.wrong in wrong
                assert all(slip.feedback in wrong for slip in number.mistakes)
            case BankOrder():
                assert meta["question_type"] == "matching_question"


def test_choices_are_marked_as_the_course_marks_them() -> None:
    for item, question in of_kind(BankChoices):
        assert isinstance(item.answers, BankChoices) and isinstance(question, SingleChoice | MultipleChoice)
        back = read_qti()[item.title]
        ids = [node.get("ident", "") for node in back.iter("response_label")]
        in_file = [pages.inline(choice.text) for choice in question.choices]
        listed = [in_file.index(choice.text) for choice in item.answers.choices]
        right = {at for at, choice in enumerate(item.answers.choices) if choice.right}
        tried = [{at} for at in range(len(ids))]
        tried += [right, set(range(len(ids)))] if question.several else []
        for given in tried:
            outcome = qti_reader.answered(back, {"response1": {ids[at] for at in given}})
            marked = question.mark(chosen(question, *(listed[at] for at in given)))
            assert (outcome.score == 100) == marked.correct, item.id
            for at in given:
                assert f"<p>{item.answers.choices[at].feedback}</p>" in outcome.told
            assert item.explanation in outcome.told


def test_the_place_of_a_choice_in_a_bank_does_not_give_it_away() -> None:
    singles = [item.answers for item, question in of_kind(BankChoices) if isinstance(question, SingleChoice)]
    places = Counter(
        next(at for at, choice in enumerate(each.choices) if choice.right)
        for each in singles
        if isinstance(each, BankChoices)
    )
    assert max(places.values()) < 0.45 * len(singles)


def test_a_system_that_shuffles_leaves_a_fixed_choice_in_its_place() -> None:
    choices = tuple(
        Alternative(text=each, correct=each == "a", feedback="So it is.", fixed=each == "None of these")
        for each in ("a", "b", "c", "None of these")
    )
    bank = small(SingleChoice(id="q", prompt="?", choices=choices))
    out = io.BytesIO()
    write_qti(bank, out)
    with zipfile.ZipFile(out) as package:
        file = next(name for name in package.namelist() if name.endswith(".xml") and "/" in name)
        root = qti_reader.read(package.read(file))
    assert [node.get("shuffle") for node in root.iter("render_choice")] == ["Yes"]
    labels = list(root.iter("response_label"))
    assert [node.get("rshuffle") for node in labels] == [None, None, None, "No"]
    assert labels[-1].findtext("material/mattext") == "None of these"


def test_orders_are_marked_by_their_places() -> None:
    for item, _ in of_kind(BankOrder):
        assert isinstance(item.answers, BankOrder)
        back = read_qti()[item.title]
        responses = list(back.iter("response_lid"))
        labels = [
            {
                label.findtext(".//mattext") or "": label.get("ident", "")
                for label in response.iter("response_label")
            }
            for response in responses
        ]
        right = {
            response.get("ident", ""): {label[str(event.place)]}
            for response, label, event in zip(responses, labels, item.answers.events, strict=True)
        }
        outcome = qti_reader.answered(back, right)
        assert outcome.score == pytest.approx(100, abs=0.1)
        assert len(outcome.told) == 1
        first = responses[0].get("ident", "")
        other = qti_reader.answered(back, right | {first: right[responses[1].get("ident", "")]})
        assert other.score < 90
        assert other.told[1:] == (f"<p>{item.answers.events[0].feedback}</p>",)


def test_of_the_draws_of_a_question_one_is_asked() -> None:
    with zipfile.ZipFile(io.BytesIO(whole_package())) as opened:
        names = [name for name in opened.namelist() if name.endswith(".xml") and "/" in name]
        roots = [qti_reader.read(opened.read(name)) for name in names]
    assert len(roots) == len(whole().modules)
    for root, module in zip(roots, whole().modules, strict=True):
        top = root.find("assessment/section")
        assert top is not None
        assert len(top) == sum(1 for _ in module.groups)
        for section in top.iter("section"):
            if section is not top:
                assert section.findtext("selection_ordering/selection/selection_number") == "1"
                assert len(section.findall("item")) == VARIANTS


def test_the_manifest_names_what_is_in_the_package() -> None:
    with zipfile.ZipFile(io.BytesIO(whole_package())) as opened:
        names = opened.namelist()
        manifest = ET.fromstring(opened.read("imsmanifest.xml"))
        assert {info.date_time for info in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert all(opened.read(name) == CHART for name in names if name.endswith(".png"))
    space = "{http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1}"
    resources = list(manifest.iter(f"{space}resource"))
    files = [node.get("href", "") for node in manifest.iter(f"{space}file")]
    assert sorted(files) == sorted(set(names) - {"imsmanifest.xml"})
    assert len({each.get("identifier") for each in resources}) == len(resources)
    assert [each.tag.removeprefix(space) for each in manifest] == ["metadata", "organizations", "resources"]
    kinds = [each.get("type") for each in resources]
    assert kinds.count("imsqti_xmlv1p2") == len(whole().modules)
    assert kinds.count("webcontent") == len(whole().charts)
    shown = {
        name
        for item in read_qti().values()
        for name in re.findall(r"FILEBASE%24/([^\"]+)", item.findtext("presentation/material/mattext") or "")
    }
    assert shown == {name for name in names if name.endswith(".png")}


def test_names_are_of_one_thing_alone() -> None:
    for item in read_qti().values():
        ids = [node.get("ident") for node in item.iter() if node.tag in ("itemfeedback", "response_lid")]
        assert len(set(ids)) == len(ids)
        for each in item.iter("displayfeedback"):
            assert each.get("linkrefid") in ids
    idents = [item.get("ident") for item in read_qti().values()]
    assert len(set(idents)) == len(idents)


def test_equal_banks_give_equal_bytes() -> None:
    again = build_bank(course().title, course().modules, RecordedPages(lambda _: CHART), VARIANTS)
    assert package(again) == whole_package()
    assert format_gift(again) == format_gift(whole())
    fewer = structs.replace(whole(), modules=whole().modules[:1], charts={})
    assert package(fewer) != whole_package()


# Texts that formats could take for their own


@pytest.mark.parametrize(
    "text", [ODD, "[html]x", "[SUM] is", "%50% more", "=", "~", "a\n\nb", "// no comment", "}", "\\"]
)
def test_any_text_comes_back(text: str) -> None:
    choices = tuple(
        Alternative(text=f"{text}{number}", correct=number == 1, feedback=f"{text}!", fixed=True)
        for number in range(3)
    )
    events = tuple(OrderedEvent(text=f"{text}{number}", feedback=f"{text}?") for number in range(3))
    slip = KnownMistake(value="20 ms", feedback=text)
    made = small(
        SingleChoice(id="s", prompt=text, explanation=text, choices=choices),
        Numeric(
            id="n",
            prompt=text,
            answer="40 ms",
            unit="time",
            feedback=text,
            explanation=text,
            mistakes=(slip,),
        ),
        Order(id="o", prompt=text, explanation=text, events=events),
    )
    said = " ".join(text.split())
    single, number, order = gift_reader.questions(format_gift(made))
    assert told(single.name).endswith(": s") and told(single.text) == said == told(single.feedback)
    assert [told(each.text) for each in single.answers] == [" ".join(f"{text}{n}".split()) for n in range(3)]
    assert {told(each.feedback) for each in single.answers} == {" ".join(f"{text}!".split())}
    assert [told(each.feedback) for each in number.answers[1:]] == [said, said]
    assert {told(each.text) for each in order.answers} == {" ".join(f"{text}{n}".split()) for n in range(3)}
    assert sorted(each.feedback for each in order.answers) == ["1", "2", "3"]
    items = qti_items(package(made))
    for title, item in items.items():
        assert title.startswith(ODD)
        assert told(item.findtext("presentation/material/mattext") or "").startswith(said)


def test_marks_inside_a_line() -> None:
    assert pages.inline("`a<b` is **so** and *not* 2 * 3 * 4 <i>") == (
        "<code>a&lt;b</code> is <strong>so</strong> and <em>not</em> 2 * 3 * 4 &lt;i&gt;"
    )
    assert pages.page("<script>x</script>\n\n| a |\n| --- |\n| b |").startswith("<p>&lt;script&gt;")
    assert "<img" not in pages.page("![a](chart:none.png)")


# The command


def test_it_prints_gift_and_says_on_the_side_what_is_left_out() -> None:
    done = here("bank", "tcp-basics/a-file-in-pieces", "tcp-basics/window-by-hand", "--format", "gift")
    assert done.returncode == 0, done.stderr
    title = step_of("tcp-basics", "a-file-in-pieces").title
    names = [each.name for each in gift_reader.questions(done.stdout)]
    assert {f"{title}: which ack", f"{title}: in order"} <= set(names)
    assert done.stderr.splitlines() == [
        f"wrote the bank: {len(names)} questions",
        f"left out: 1 question {BY_HAND}",
    ]


def test_it_writes_a_file_as_it_prints(tmp_path: Path) -> None:
    words = ["bank", "pacing/final-check", "--variants", "2", "--format"]
    path = tmp_path / "pacing.gift"
    done = here(*words, "gift", "-o", path)
    assert (done.returncode, done.stderr) == (0, "")
    items = len(list(gift_reader.questions(path.read_text(encoding="utf-8"))))
    questions = len(step_of("pacing", "final-check").activities_of(Question))
    assert items > questions
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"wrote {path}: {questions} questions, with all draws {items} items")
    assert path.read_text() == here(*words, "gift").stdout
    refused = here(*words, "gift", "-o", path)
    assert (refused.returncode, "already exists" in refused.stderr) == (2, True)
    assert here(*words, "qti", "-o", path, "--replace").returncode == 0
    assert len(qti_items(path.read_bytes())) == items


def test_it_draws_an_exam_with_the_key(tmp_path: Path) -> None:
    path, key = tmp_path / "course.key", new_key()
    write_key(key, path)
    words = ["bank", "pacing/final-check", "--format", "gift"]
    public, own = here(*words), here(*words, "--key", path, "--exam", "midterm 1")
    assert (public.returncode, own.returncode) == (0, 0)
    assert "students can draw as well" in public.stderr
    assert "drawn with the course's key for midterm 1" in own.stderr
    assert {each.category.split("/")[1] for each in gift_reader.questions(own.stdout)} == {"midterm 1"}
    assert here(*words, "--key", path, "--exam", "midterm 1").stdout == own.stdout
    for wrong in (["--exam", "x"], ["--key", key.code], ["--key", path, "--exam", "a/b"]):
        refused = here(*words, *wrong)
        assert (refused.returncode, refused.stdout, len(refused.stderr.splitlines())) == (2, "", 1)


def test_a_page_about_its_run_comes_with_a_chart(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    done = here("bank", "tcp-basics/2", "--format", "qti", "-o", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"wrote .*a\.zip: \d+ questions?, 1 chart\n", done.stdout)
    with zipfile.ZipFile(path) as opened:
        assert opened.testzip() is None
        assert opened.read("charts/tcp-basics-two-segments-at-a-time.png").startswith(b"\x89PNG")


def test_without_matplotlib_toursare_no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcptutor.commands.bank.has_matplotlib", lambda: False)
    done = here("bank", "tcp-basics/2", "--format", "gift")
    assert done.returncode == 0
    first, *rest = done.stderr.splitlines()
    assert first.startswith("charts are left out, as matplotlib is missing: run ")
    assert rest[0].startswith("wrote the bank: ")
    assert "<table>" in done.stdout.replace("\\=", "=") and "<img" not in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such", "--format", "gift"], "no module 'no-such'"),
        (["tcp-basic", "--format", "gift"], "did you mean tcp-basics?"),
        (["tcp-basics/no-such", "--format", "gift"], "no page 'no-such'"),
        (["--format", "gift", "--variants", "0"], "0 is not in the range"),
        (["--format", "gift", "--variants", "x"], "is not a whole number"),
        (["--format", "moodle"], "'moodle' is not one of"),
        ([], "issing option '--format'"),
        (["--format", "qti"], "QTI is a zip file: name it with -o"),
        (
            ["broken-labs/it-connects", "--format", "gift"],
            f"no question on broken-labs/it-connects can be exported (1 question {BY_HAND}): choose another page",
        ),
        (["--format", "gift", "--course", "/no/such"], "no course /no/such"),
        (["--format", "gift", "-o", "/"], "is a folder"),
        (["--format", "gift", "-o", "/dev/null"], "is a device or a pipe"),
    ],
)
def test_wrong_words_are_refused_in_a_line(words: list[str], said: str) -> None:
    done = here("bank", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_course_without_questions_and_one_of_its_own(tmp_path: Path) -> None:
    lessons = tmp_path / "lessons"
    (lessons / "01-own").mkdir(parents=True)
    (lessons / "course.toml").write_text('title = "Own"\nmodules = ["own"]\nformat_version = 1\n')
    (lessons / "01-own" / "module.toml").write_text('title = "Own"\nobjectives = ["x"]\nsources = []\n')
    page = lessons / "01-own" / "01-first.md"
    page.write_text('+++\ntitle = "First"\npath = "essential"\n+++\nSome prose.\n')
    words = ["bank", "--format", "gift", "--course", lessons]
    done = here(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no question in the course can be exported: choose another page" in done.stderr
    page.write_text(
        '+++\ntitle = "First"\npath = "essential"\n[[question]]\nid = "q"\nkind = "numeric"\nprompt = "Two and two?"\n'
        'answer = "4"\nunit = "count"\ntolerance = 0\n+++\nSome prose.\n'
    )
    done = here(*words)
    assert done.returncode == 0, done.stderr
    (back,) = gift_reader.questions(done.stdout)
    assert (back.name, back.category) == ("First: q", "tcptutor/own/first")
    assert marked(back, 4)[0] == 1 and marked(back, 5)[0] == 0


def test_the_bank_of_a_damaged_course_is_that_of_the_rest(tmp_path: Path) -> None:
    lessons = tmp_path / "lessons"
    (lessons / "01-own").mkdir(parents=True)
    (lessons / "course.toml").write_text('title = "Own"\nmodules = ["own"]\nformat_version = 1\n')
    done = here("bank", "--format", "gift", "--course", lessons)
    assert done.returncode == 2
    assert "module.toml" in done.stderr


def test_a_page_s_figures_are_drawn_and_described() -> None:
    layers = ({"name": "program", "note": "a < b"}, {"name": "fq", "limit": "maxrate 10mbit"})
    figure = msgspec.convert({"id": "limits", "kind": "stack", "layer": layers}, ANY_FIGURE)
    text = pages.illustrated("Look:\n\n![](figure:limits)\n\nNow *think*.", [figure])
    before, picture, after = re.split(r"<pre[^>]*>|</pre>", text)
    assert before == "<p>Look:</p>"
    assert "a &lt; b" in picture
    assert len(picture.splitlines()) == len(figure.draw(72))
    assert after.endswith("</em></p><p>Now <em>think</em>.</p>")
    assert "limit maxrate 10mbit" in after
