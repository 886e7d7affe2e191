"""Several hand-ins of one student: which counts, whatever the files say of themselves, and who made them."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from tcptutor.course.marks import HandInRule
from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.evidence.hand_in import open_hand_in, write_hand_in
from tcptutor.grading.formats import format_grades
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.remarks import shown_to_student
from tcptutor.grading.survey import anonymize_files, survey
from tests.command import process
from tests.grading.evidence.student import KEY, LESSONS, SWEPT, Student, handed_in, student
from tests.grading.graded import graded


def _basis(tmp_path: Path, rule: HandInRule) -> GradingBasis:
    lessons = tmp_path / "lessons"
    if not lessons.exists():
        shutil.copytree(LESSONS, lessons)
        about = lessons / "course.toml"
        about.write_text(about.read_text().replace("[marks]", f'[marks]\nhand_ins = "{rule}"'))
    return GradingBasis(lessons, KEY.code)


def _graded(paths: Sequence[Path], tmp_path: Path, rule: HandInRule = "union") -> list[GradedFile]:
    return graded(paths, _basis(tmp_path, rule))


def _counted(found: Sequence[GradedFile]) -> tuple[str, Grade]:
    """The name and grade of the only one that counts."""
    ((file, grade),) = [(each.file, each.grade) for each in found if each.grade and not each.superseded_by]
    return file, grade


def _first_pages(one: Student) -> None:
    one.does_asked_and_ran()


def _last_pages(one: Student) -> None:
    one.answer(3, "predict", "9 Mbit/s")
    one.sweeps(*SWEPT)
    one.works()


def _wrong(one: Student) -> None:
    one.answer(1, "which", (1,))


def _file(tmp_path: Path, name: str, do: Callable[[Student], object], of: str = "ada") -> Path:
    target = tmp_path / f"{name}.tcphandin"
    shutil.copy(handed_in(of, tmp_path / name, do), target)
    return target


def _claiming(file: Path, made: str) -> Path:
    """The file again, with another date in it."""
    with open_hand_in(file) as hand_in:
        manifest = msgspec.structs.replace(hand_in.manifest, made=made)
        write_hand_in(file.with_stem(f"{file.stem}-late"), manifest, hand_in.events, [])
    return file.with_stem(f"{file.stem}-late")


def test_work_on_two_machines_adds_up(tmp_path: Path) -> None:
    lab, laptop = _file(tmp_path, "lab", _first_pages), _file(tmp_path, "laptop", _last_pages)
    found = _graded([lab, laptop], tmp_path)
    file, grade = _counted(found)
    alone = [each.grade.total for each in found[:2] if each.grade]
    assert (file, grade.total) == ("lab.tcphandin + laptop.tcphandin", sum(alone))
    assert min(alone) > 0
    assert "2 hand-ins count together" in grade.remarks[-1].text
    # In another order, and from the cache, it is the same.
    assert _counted(_graded([laptop, lab], tmp_path))[1].marks == grade.marks


def test_a_classmates_file_takes_nothing_from_anybody(tmp_path: Path) -> None:
    mine = _file(tmp_path, "mine", Student.does_all)
    forged = _claiming(_file(tmp_path, "forged", _wrong), "9999-01-01T00:00:00+00:00")
    os.utime(forged, (1, 1))
    for rule in ("union", "best"):
        file, grade = _counted(_graded([mine, forged], tmp_path / rule, rule))  # type: ignore[arg-type]
        assert (file, grade.total) == ("mine.tcphandin", 19)
        assert "forged-late.tcphandin (0 marks)" in grade.remarks[-1].text
        assert not shown_to_student(grade.remarks)


def test_fifty_wrong_answers_in_another_file_push_no_right_one_out(tmp_path: Path) -> None:
    def tries(one: Student) -> None:
        for number in range(50):
            one.answer(1, "how-much", f"{number + 1} GB")

    forged, mine = _file(tmp_path, "forged", tries), _file(tmp_path, "mine", _first_pages)
    file, grade = _counted(_graded([forged, mine], tmp_path))
    assert (file, grade.total) == ("mine.tcphandin", _counted(_graded([mine], tmp_path))[1].total)


def test_the_journal_of_another_student_lifts_nobody(tmp_path: Path) -> None:
    """Who did all as bob, and enrols as ada at the end."""

    def taken_over(one: Student) -> None:
        one.does_all()
        one.journal.enrol("ada", KEY.code)

    other = _file(tmp_path, "other", taken_over, "bob")
    mine = _file(tmp_path, "mine", lambda one: one.answer(1, "how-much"))
    _, grade = _counted(_graded([mine, other], tmp_path))
    personal = [mark for mark in grade.marks if mark.kind in ("experiment", "sweep", "challenge", "shell")]
    assert sum(mark.marks for mark in personal) == 0


def test_an_earlier_state_of_the_same_journal_adds_nothing(tmp_path: Path) -> None:
    with student("ada", tmp_path / "ada") as one:
        one.answer(1, "which", (1,))
        week = [one.hands_in(tmp_path / "week1.tcphandin")]
        one.does_asked_and_ran()
        week.append(one.hands_in(tmp_path / "week2.tcphandin"))
    file, grade = _counted(_graded(week, tmp_path))
    assert file == "week2.tcphandin"
    # The first attempt was wrong, in both.
    assert next(mark.marks for mark in grade.marks if mark.activity == "which") == 1


def test_a_damaged_copy_never_counts_before_a_whole_file(tmp_path: Path) -> None:
    good = _file(tmp_path, "z", Student.does_all)
    with open_hand_in(good) as hand_in:
        cut = tmp_path / "a.tcphandin"
        write_hand_in(cut, hand_in.manifest, list(hand_in.events)[:-1], [])
    for rule in ("union", "best", "newest"):
        found = _graded([good, cut], tmp_path / rule, rule)  # type: ignore[arg-type]
        assert (_counted(found)[0], _counted(found)[1].total) == ("z.tcphandin", 19)
    lacking = tmp_path / "b.tcphandin"
    lacking.write_bytes(good.read_bytes()[:-2048])
    assert _counted(_graded([lacking, good], tmp_path))[0] == "z.tcphandin"


def test_equal_files_count_alike_in_any_order(tmp_path: Path) -> None:
    paths = [_file(tmp_path, name, _first_pages) for name in ("a", "b", "c")]
    shutil.copy(paths[0], paths[1])
    expected = _counted(_graded(paths, tmp_path))
    for seed in range(3):
        random.Random(seed).shuffle(paths)
        file, grade = _counted(_graded(paths, tmp_path))
        assert (file, grade.marks) == (expected[0], expected[1].marks)


def test_the_newest_is_the_one_received_last(tmp_path: Path) -> None:
    early, late = _file(tmp_path, "early", Student.does_all), _file(tmp_path, "late", _wrong)
    early = _claiming(early, "2999-01-01T00:00:00+00:00")
    for number, path in enumerate((early, late)):
        os.utime(path, (10**9 + number, 10**9 + number))
    file, grade = _counted(_graded([late, early], tmp_path, "newest"))
    assert (file, grade.total) == ("late.tcphandin", 0)
    assert "late.tcphandin (0 marks, received 2001-09-09 01:46 UTC)" in grade.remarks[-1].text
    # Of equal times, the one that the course's system gives last.
    os.utime(early, (10**9 + 1, 10**9 + 1))
    assert _counted(_graded([late, early], tmp_path, "newest"))[0] == early.name


@pytest.mark.parametrize("kind", ["csv", "json", "moodle", "lti"])
def test_a_remark_tells_the_teacher_what_counts(kind: str, tmp_path: Path) -> None:
    paths = [_file(tmp_path, "lab", _first_pages), _file(tmp_path, "laptop", _last_pages)]
    found = _graded(paths, tmp_path)
    text = format_grades(found, kind)
    assert ("2 hand-ins count together" in text) == (kind in ("csv", "json"))
    if kind == "csv":
        (row,) = csv.DictReader(io.StringIO(text))
        assert (row["student"], float(row["score"])) == ("ada", _counted(found)[1].total)
    if kind == "lti":
        (score,) = json.loads(text)
        assert score["gradingProgress"] == "FullyGraded"
    summary = survey(found, _basis(tmp_path, "union").course)
    assert len(summary.students) == 1
    assert "lab" not in format_grades(anonymize_files(found, summary), kind).replace("label", "")


def test_the_whole_way_from_two_machines_to_a_table(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    for name, do in (("lab", _first_pages), ("laptop", _last_pages)):
        shutil.copy(_file(tmp_path, name, do), folder)
    words = ["grade", str(folder), "--course", str(LESSONS), "--key", KEY.code]
    done = process(*words, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.returncode == 0
    assert "lab.tcphandin of ada counts as part of lab.tcphandin + laptop.tcphandin" in done.stderr
    assert "15 of 19" in done.stdout or "16 of 19" in done.stdout


def test_a_restored_journal_is_not_joined_with_what_it_forgot(tmp_path: Path) -> None:
    """Answers tried out on a copy of the journal, which goes on from the same event."""
    with student("ada", tmp_path / "ada") as one:
        one.answer(1, "which")
    shutil.copytree(tmp_path / "ada", tmp_path / "copy")
    with student("ada", tmp_path / "ada") as one:
        one.answer(1, "how-much", "1 GB")
        one.answer(2, "predict", "2 Mbit/s")
        first = one.hands_in(tmp_path / "first.tcphandin")
    with student("ada", tmp_path / "copy") as one:
        one.answer(1, "how-much")
        second = one.hands_in(tmp_path / "second.tcphandin")
    file, grade = _counted(_graded([first, second], tmp_path))
    assert (file, grade.total) == ("second.tcphandin", 4)
    assert "the best of 2 hand-ins counts" in grade.remarks[-1].text
