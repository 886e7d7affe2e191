"""A teacher's comments, from `tcptutor grade --comments` to `tcptutor comments` on the student's side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tcptutor.journal import Journal
from tests.command import here as tcptutor
from tests.grading.evidence.student import KEY, LESSONS, Student, handed_in

GRADE = ["grade", "--course", str(LESSONS), "--key", KEY.code]


@pytest.fixture
def ada(without_state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state of ada, who is enrolled in the small course."""
    monkeypatch.setattr("tcptutor.base.places.lessons", lambda: LESSONS)
    assert tcptutor("enrol", KEY.code, "ada").returncode == 0
    return without_state


def errs(one: Student) -> None:
    one.answer(1, "which", (1,))


def comments_on(page: str) -> list[str]:
    journal = Journal.open()
    texts = [comment.text for comment in journal.page("small", page).comments]
    journal.close()
    return texts


def written(folder: Path, *comments: str) -> Path:
    path = folder / "mine.toml"
    path.write_text("\n".join([f'course = "{KEY.code}"', 'student = "ada"', *comments]))
    return path


def test_a_draft_reaches_its_student_once(ada: Path, tmp_path: Path) -> None:
    files = [handed_in(name, tmp_path / name, errs, enrolled=True) for name in ("ada", "bob")]
    hand_ins = tmp_path / "hand-ins"
    hand_ins.mkdir()
    for name, file in zip(("ada", "bob"), files, strict=True):
        file.rename(hand_ins / f"{name}.tcphandin")
    folder = tmp_path / "comments"
    done = tcptutor(*GRADE, hand_ins, "--comments", folder)
    assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in folder.iterdir()) == ["ada.comments.toml", "bob.comments.toml"]
    mine, other = folder / "ada.comments.toml", folder / "bob.comments.toml"
    again = tcptutor(*GRADE, hand_ins, "--comments", folder)
    assert (again.returncode, "already exists" in again.stderr) == (2, True)

    read = tcptutor("comments", mine)
    assert (read.returncode, read.stderr) == (0, "")
    assert "1 new comment, on small/asked" in read.stdout
    assert comments_on("asked") == ["The answer is wrong."]
    twice = tcptutor("comments", mine, "--json")
    assert json.loads(twice.stdout) == {"new": 0, "pages": []}
    assert comments_on("asked") == ["The answer is wrong."]
    refused = tcptutor("comments", other)
    assert refused.returncode == 1
    assert "is for 'bob' in the course" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_what_cannot_be_used_costs_a_line_each_and_the_rest_is_read(ada: Path, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '[[comment]]\npage = "small/gone"\ntext = "Where?"',
        f'[[comment]]\npage = "small/asked"\ntext = "{"x" * 2001}"',
        '[[comment]]\npage = "small/asked"\ntext = " "',
        '[[comment]]\npage = "small/asked"\nactivity = "wich"\ntext = "Kept."',
    )
    done = tcptutor("comments", path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 4
    assert "comment 1: no page 'small/gone'" in done.stderr
    assert "comment 2: a comment holds 2000 characters" in done.stderr
    assert comments_on("asked") == ["Kept."]


def test_bad_files_cost_a_line_each(ada: Path, tmp_path: Path) -> None:
    folder, damaged = tmp_path / "a-folder", tmp_path / "damaged.toml"
    folder.mkdir()
    damaged.write_text("]")
    good = written(tmp_path, '[[comment]]\npage = "small/asked"\ntext = "Good."')
    done = tcptutor("comments", folder, damaged, tmp_path / "missing.toml", good)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 3
    assert comments_on("asked") == ["Good."]
