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
    CommentFile,
    PageComment,
    draft_comments,
    file_name,
    read_comments,
    write_toml,
)
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import Grade
from tcptutor.grading.marking import grade_hand_in
from tests.grading.evidence.student import KEY, Student, course, handed_in

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12).filter(lambda text: is_printable(text, lines=True))


def graded(file: Path) -> Grade:
    with open_hand_in(file) as hand_in:
        return grade_hand_in(hand_in, course(), KEY.code)


def test_a_draft_has_the_reasons_of_wrong_and_refused_work_and_no_answers(tmp_path: Path) -> None:
    def errs(one: Student) -> None:
        one.answer(1, "which", (1,))
        one.runs()
        one.answer(2, "predict", "2 Mbit/s")

    draft = draft_comments(graded(handed_in("ada", tmp_path, errs)))
    assert (draft.course, draft.student) == (KEY.code, "ada")
    which, predict = draft.comment
    assert (which.page, which.activity, which.text) == ("small/asked", "which", "The answer is wrong.")
    assert (predict.page, predict.activity) == ("small/ran", "predict")
    assert predict.text.endswith("was begun before it.")
    assert "cwnd" not in write_toml(draft, "ada.comments.toml")


def test_full_marks_need_no_comment(tmp_path: Path) -> None:
    draft = draft_comments(graded(handed_in("ada", tmp_path)))
    assert draft.comment == ()
    path = tmp_path / "ada.comments.toml"
    path.write_text(write_toml(draft, path.name))
    assert read_comments(path) == draft


@given(TEXTS, TEXTS.map(lambda text: " ".join(text.split())))
def test_what_is_written_reads_back(text: str, name: str) -> None:
    comments = CommentFile(
        course="c", student=name, comment=(PageComment(page="m/p", activity="q", text=text),)
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "comments.toml"
        path.write_text(write_toml(comments, file_name(name, ())), encoding="utf-8")
        assert read_comments(path) == comments


@given(st.text(max_size=300))
def test_a_students_name_never_leads_out_of_the_folder(name: str) -> None:
    found = file_name(name, ())
    assert Path(found).name == found
    assert not found.startswith(".")
    assert len(found.encode()) < 255
    assert file_name(name, (found,)) != found


@pytest.mark.parametrize("text", ["nonsense", "course = 1", 'student = "ada"', 'typo = "x"'])
def test_another_file_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ada.comments.toml"
    path.write_text(text)
    with pytest.raises(ContentError) as raised:
        read_comments(path)
    assert "ada.comments.toml" in str(raised.value)
    assert "\n" not in str(raised.value)
