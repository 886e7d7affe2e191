"""Drafts of comments: the reasons of marks that were not given, without answers, in a file that reads back."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base.errors import ContentError
from tcptutor.base.printable import is_printable
from tcptutor.grading.comments import (
    SUFFIX,
    CommentFile,
    PageComment,
    file_name,
    read_comments,
    write_draft,
)
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import ActivityMark, GivenAnswer, Grade
from tcptutor.grading.marking import grade_hand_in
from tests.grading.evidence.student import KEY, Student, course, handed_in

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12).filter(lambda text: is_printable(text, lines=True))


def draft(hand_in: Path) -> str:
    with open_hand_in(hand_in) as opened:
        return write_draft(grade_hand_in(opened, course(), KEY.code), "ada.comments.toml")


def read(text: str, folder: Path) -> CommentFile:
    path = folder / "ada.comments.toml"
    path.write_text(text, encoding="utf-8")
    return read_comments(path)


def test_a_draft_has_the_reasons_of_wrong_and_refused_work_and_no_answers(tmp_path: Path) -> None:
    def errs(one: Student) -> None:
        one.answer(1, "which", (1,))
        one.runs()
        one.answer(2, "predict", "2 Mbit/s")

    text = draft(handed_in("ada", tmp_path, errs))
    comments = read(text, tmp_path)
    assert (comments.course, comments.student) == (KEY.code, "ada")
    which, predict = comments.comment
    assert (which.page, which.activity, which.text) == ("small/asked", "which", "The answer is wrong.")
    assert (predict.page, predict.activity) == ("small/ran", "predict")
    assert predict.text.endswith("was begun before it.")
    assert '# "Asked", answered "RTT"' in text
    assert "cwnd" not in text


def test_full_marks_need_no_comment(tmp_path: Path) -> None:
    assert read(draft(handed_in("ada", tmp_path)), tmp_path).comment == ()


@given(TEXTS, TEXTS)
def test_no_words_of_a_hand_in_break_the_file(words: str, name: str) -> None:
    answer = GivenAnswer(at="", text=words, correct=False)
    mark = ActivityMark(
        module="m",
        page="p",
        title=words,
        activity="q",
        kind="question",
        marks=0,
        of=1,
        outcome="none",
        reason=f"it says {words}.",
        answers=(answer,),
    )
    grade = Grade(student=name, course=words, title="", made="", marks=(mark,))
    with TemporaryDirectory() as folder:
        found = read(write_draft(grade, file_name(name, SUFFIX, ())), Path(folder))
    assert (found.student, found.course) == (name, words)
    assert found.comment == (PageComment(page="m/p", activity="q", text=f"It says {words}."),)


@given(st.text(max_size=300))
def test_a_students_name_never_leads_out_of_the_folder(name: str) -> None:
    found = file_name(name, SUFFIX, ())
    assert Path(found).name == found
    assert not found.startswith(".")
    assert len(found.encode()) < 255
    assert file_name(name, SUFFIX, (found,)) != found


@pytest.mark.parametrize("text", ["nonsense", "course = 1", 'student = "ada"', 'typo = "x"'])
def test_another_file_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ada.comments.toml"
    path.write_text(text)
    with pytest.raises(ContentError) as raised:
        read_comments(path)
    assert "ada.comments.toml" in str(raised.value)
    assert "\n" not in str(raised.value)
