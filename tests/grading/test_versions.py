"""Hand-ins that were made with other lessons than those that grade them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tcptutor.base.errors import TutorError
from tcptutor.course.outline import load
from tcptutor.course.pack import write_pack
from tcptutor.course.sources import course_folder
from tcptutor.grading import session
from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.evidence.collect import collect
from tcptutor.grading.evidence.hand_in import write_hand_in
from tcptutor.grading.versions import CourseVersions
from tests.command import here as tcptutor
from tests.command import process
from tests.grading.evidence.student import KEY, LESSONS, Student, identity, student
from tests.sweep.test_cluster import cluster

ASKED, RAN = "01-small/01-asked.md", "01-small/02-ran.md"
CHOICE = '[[question.choice]]\ntext = "RTT"\nfeedback = "That is a time."\n'
Edit = Callable[[str], str]


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Path]:
    def edit(name: str, file: str, change: Edit, of: Path = LESSONS) -> Path:
        folder = Path(shutil.copytree(of, tmp_path / name))
        text = (folder / file).read_text(encoding="utf-8")
        assert change(text) != text
        (folder / file).write_text(change(text), encoding="utf-8")
        return folder

    return edit


def hand_in(folder: Path, tmp_path: Path, do: Callable[[Student], object]) -> Path:
    """The file of a student who worked in the course of that folder."""
    with student("ada", tmp_path / "ada") as one:
        one.course = load(folder).for_student(identity("ada"))
        do(one)
        collected = collect(one.journal, load(folder))
    path = tmp_path / "ada.tcphandin"
    write_hand_in(path, collected.manifest, collected.events, collected.runs)
    return path


class CorrectedCourse(NamedTuple):
    """A course whose experiment was changed after a student had handed in."""

    current: Path
    file: Path
    """The hand-in, made with the version before."""
    versions: Path
    """Folder with a pack of that version."""


@pytest.fixture
def corrected(edited: Callable[..., Path], tmp_path: Path) -> CorrectedCourse:
    first = edited("first", "course.toml", lambda text: f'version = "1"\n{text}')
    current = edited("current", "course.toml", lambda text: f'version = "2"\n{text}')
    experiment = next((current / "01-small/experiments").glob("lossy.toml"))
    experiment.write_text(experiment.read_text().replace("20 ms", "30 ms"), encoding="utf-8")
    file = hand_in(first, tmp_path, Student.does_asked_and_ran)
    versions = tmp_path / "versions"
    versions.mkdir()
    write_pack(first, versions / "1.tcpcourse")
    return CorrectedCourse(current, file, versions)


def graded(file: Path, course: Path, *words: str | Path) -> tuple[dict[str, Any], list[str]]:
    """The marks by activity, and the remarks."""
    done = tcptutor("grade", file, "--course", course, "--key", KEY.code, "--json", *words)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["hand_ins"]
    marks = {f"{each['page']} {each['activity']}": each for each in found["marks"]}
    return marks, [each["text"] for each in found["remarks"]]


def with_more_choices(text: str) -> str:
    """A new choice before the others, and the order of the old ones turned round."""
    new = '[[question.choice]]\ntext = "MTU"\nfeedback = "That is a size of packets."\n\n'
    return text.replace(CHOICE, "", 1).replace(
        "[[question.choice]]", f"{new}{CHOICE}\n[[question.choice]]", 1
    )


def test_a_right_answer_stays_right_when_choices_are_added_and_moved(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    packed = tmp_path / "first.tcpcourse"
    write_pack(LESSONS, packed)
    file = hand_in(course_folder(packed), tmp_path, lambda one: one.answer(1, "which"))
    marks, remarks = graded(file, packed)
    assert (marks["asked which"]["outcome"], remarks) == ("full", [])
    corrected = tmp_path / "second.tcpcourse"
    write_pack(edited("second", ASKED, with_more_choices), corrected)
    marks, remarks = graded(file, corrected)
    assert marks["asked which"]["outcome"] == "full"
    assert remarks == ["made with other lessons: 1 of 5 pages differs: asked"]


def test_a_wrong_answer_stays_wrong_and_one_whose_choice_is_gone_is_inconclusive(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    file = hand_in(LESSONS, tmp_path, lambda one: one.answer(1, "which", (1,)))
    assert graded(file, edited("more", ASKED, with_more_choices))[0]["asked which"]["outcome"] == "none"
    marks, remarks = graded(file, edited("less", ASKED, lambda text: text.replace(CHOICE, "", 1)))
    assert (marks["asked which"]["outcome"], marks["asked which"]["reason"]) == (
        "inconclusive",
        "the page no longer has this choice",
    )
    assert any("asked which" in each for each in remarks)


def test_an_id_keeps_the_answer_when_the_text_is_corrected(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    named = edited(
        "named", ASKED, lambda text: text.replace('text = "cwnd"\n', 'text = "cwdn"\nid = "cwnd"\n')
    )
    file = hand_in(named, tmp_path, lambda one: one.answer(1, "which"))
    corrected = edited("corrected", ASKED, lambda text: text.replace("cwdn", "cwnd"), named)
    assert graded(file, corrected)[0]["asked which"]["outcome"] == "full"


def test_a_folder_of_versions_grades_each_hand_in_by_its_own(
    corrected: CorrectedCourse, tmp_path: Path
) -> None:
    current, file, versions = corrected
    marks, remarks = graded(file, current)
    assert marks["ran experiment"]["outcome"] == "refused"
    assert remarks == ["made with version '1' of the lessons, not '2': 1 of 5 pages differs: ran"]
    for_moodle = tcptutor("grade", file, "--course", current, "--key", KEY.code, "--format", "moodle").stdout
    assert "ada" in for_moodle and "of the lessons" not in for_moodle
    marks, remarks = graded(file, current, "--versions", versions)
    assert (marks["ran experiment"]["outcome"], remarks) == ("full", [])
    assert tcptutor("grade", file, "--course", current, "--versions", tmp_path / "ada").returncode == 2


@pytest.mark.host
def test_the_workers_of_a_cluster_grade_each_hand_in_by_its_own_version(
    corrected: CorrectedCourse, tmp_path: Path
) -> None:
    current, file, versions = corrected
    here = graded(file, current, "--versions", versions)
    assert here[0]["ran experiment"]["outcome"] == "full"
    with cluster(1) as (address, _):
        cached = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        words = ["grade", file, "--course", current, "--key", KEY.code, "--json", "--versions", versions]
        done = process(*map(str, words), "--cluster", address, env=cached)
        assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["hand_ins"]
    assert {f"{each['page']} {each['activity']}": each for each in found["marks"]} == here[0]


def test_a_worker_grades_by_the_version_of_the_hand_in(corrected: CorrectedCourse, tmp_path: Path) -> None:
    current, file, versions = corrected
    total = {}
    for folder in (None, versions):
        basis = GradingBasis(current, versions=folder)
        digest = session._digest(CourseVersions(basis.course, folder))
        found = session.grade_on_worker(session._encode_call(file, basis, digest))
        assert found.grade is not None
        total[folder] = found.grade.total
    assert total[versions] > total[None]
    lost = GradingBasis(current, versions=tmp_path / "lost")
    with pytest.raises(TutorError, match="no folder"):
        session.grade_on_worker(session._encode_call(file, lost, "0"))


def test_a_folder_of_versions_without_the_needed_one_is_reported(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    first = edited("first", "course.toml", lambda text: f'version = "1"\n{text}')
    file = hand_in(first, tmp_path, lambda one: one.answer(1, "which"))
    current = edited("current", ASKED, with_more_choices)
    versions = tmp_path / "versions"
    versions.mkdir()
    write_pack(current, versions / "2.tcpcourse")
    words = ("grade", file, "--course", current, "--key", KEY.code, "--versions", versions)
    assert "version '1', whose lessons are not in" in tcptutor(*words).stderr
    write_pack(first, versions / "1.tcpcourse")
    assert tcptutor(*words).stderr == ""
    write_pack(edited("changed", ASKED, with_more_choices, first), versions / "again.tcpcourse")
    (line,) = tcptutor(*words).stderr.splitlines()
    assert "1.tcpcourse" in line and "again.tcpcourse" in line and "'1'" in line


def test_a_corrected_key_counts_for_an_earlier_version_too(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    """The author corrects the key in the current version and in the earlier one, and changes an experiment."""

    def corrected(text: str) -> str:
        return text.replace("correct = true\n", "", 1).replace(CHOICE, f"{CHOICE}correct = true\n", 1)

    first = edited("first", "course.toml", lambda text: f'version = "1"\n{text}')
    file = hand_in(first, tmp_path, Student.does_asked_and_ran)
    current = edited("current", "course.toml", lambda text: f'version = "2"\n{text}')
    experiment = next((current / "01-small/experiments").glob("lossy.toml"))
    experiment.write_text(experiment.read_text().replace("20 ms", "30 ms"), encoding="utf-8")
    (current / ASKED).write_text(corrected((current / ASKED).read_text()), encoding="utf-8")
    versions = tmp_path / "versions"
    shutil.copytree(first, versions / "1")
    before, _ = graded(file, current, "--versions", versions)
    assert (before["asked which"]["outcome"], before["ran experiment"]["outcome"]) == ("full", "full")
    page = versions / "1" / ASKED
    page.write_text(corrected(page.read_text()), encoding="utf-8")
    after, remarks = graded(file, current, "--versions", versions)
    assert (after["asked which"]["outcome"], after["ran experiment"]["outcome"]) == ("none", "full")
    assert remarks == ["made with other lessons: 1 of 5 pages differs: asked"]


def test_a_hand_in_of_another_course_is_refused_and_not_marked(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    file = hand_in(LESSONS, tmp_path, lambda one: one.answer(1, "which"))
    other = edited("other", "course.toml", lambda text: text.replace("A course that grades", "Windows"))
    for words in (["--course", other], []):
        done = tcptutor("grade", file, *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert "of another course, 'A course that grades' (a-course-that-grades)" in done.stderr
    rows = tcptutor("grade", file, "--course", other, "--format", "csv").stdout
    assert "of another course" in rows
