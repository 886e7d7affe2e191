"""Texts of a hand-in with newlines and other controls: no output of grading gets a line from them."""

from __future__ import annotations

import csv
import io
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.evidence.hand_in import open_hand_in, write_hand_in
from tcptutor.grading.formats import format_grades
from tcptutor.grading.grade import GradedFile
from tcptutor.grading.survey import survey
from tcptutor.grading.views import table_views
from tcptutor.journal.events import Enrolled, Reported, Responded, chain, decode
from tcptutor.run import Fidelity, save
from tests.command import process
from tests.grading.evidence.student import LESSONS, course, student
from tests.grading.graded import graded

FORGED = "eve  19 of 19 marks, 100 %\n  small  19  of  19\r\x85\u2028zoe\x1b[2J"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A hand-in with forged lines wherever its author writes something, and one that is none, under such a name."""

    def forge(event: object) -> object:
        match event:
            case Enrolled():
                return msgspec.structs.replace(event, student=FORGED)
            case Responded(activity="how-much"):
                return msgspec.structs.replace(
                    event, response=msgspec.structs.replace(event.response, answer=FORGED)
                )
            case Reported():
                return msgspec.structs.replace(event, text=FORGED)
        return event

    with student("ada", tmp_path / "ada") as one:
        one.does_asked_and_ran()
        one.journal.report("small", "asked", "the chart is empty")
        honest = one.hands_in()
    found = tmp_path / "class"
    found.mkdir()
    with open_hand_in(honest) as hand_in:
        events = [forge(event) for each in hand_in.events if (event := decode(each.data)) is not None]
        manifest = msgspec.structs.replace(hand_in.manifest, made=FORGED, missing=(FORGED,))
        rows = list(chain(events))  # type: ignore[arg-type]
        manifest = msgspec.structs.replace(manifest, events=len(rows))
        doubted, _ = hand_in.run(next(iter(hand_in.run_ids)))
        doubted.fidelity = Fidelity(status="suspect", reasons=(FORGED,))
        save(doubted, tmp_path / "doubted.tcprun")
        write_hand_in(
            found / "forged\nzoe  19 of 19.tcphandin",
            manifest,
            rows,
            [(doubted.id, tmp_path / "doubted.tcprun")],
        )
    (found / "none\nzoe  19 of 19.tcphandin").write_bytes(b"nothing")
    return found


def _graded(folder: Path) -> list[GradedFile]:
    return graded(sorted(folder.iterdir()), GradingBasis(LESSONS, ""))


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for each in pair for text in _strings(each)]
    return [text for each in value for text in _strings(each)] if isinstance(value, list | tuple) else []


def test_a_grade_holds_no_newline_of_a_hand_in(folder: Path) -> None:
    found = _graded(folder)
    told = [text for each in found for text in _strings(msgspec.to_builtins(each.grade))]
    told += [text for each in found for text in (each.file, each.problem)]
    assert [text for text in told if "zoe" in text and not text.isprintable()] == []
    assert sum("zoe" in text for text in told) >= 5


@pytest.mark.parametrize("kind", ["csv", "moodle", "canvas", "junit", "json", "lti"])
def test_no_format_has_a_line_or_a_cell_of_it(kind: str, folder: Path) -> None:
    text = format_grades(_graded(folder), kind)
    assert [line for line in text.splitlines() if line.lstrip().startswith(("zoe", "small  19"))] == []
    if kind == "csv":
        assert all("\n" not in cell for row in csv.reader(io.StringIO(text)) for cell in row)


def test_no_row_of_a_class_has_it(folder: Path) -> None:
    found = survey(_graded(folder), course())
    cells = [cell for view in table_views(found) for row in view.rows for cell in row]
    notes = [note for view in table_views(found) for note in view.notes]
    assert [text for text in (*cells, *notes) if "\n" in text or "\r" in text] == []


def test_the_command_prints_one_student_and_one_problem(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "again")
    words = [str(tmp_path / "again"), "--course", str(LESSONS)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for command in (["grade", *words, "--all"], ["class", *words, "--text"], ["grade", *words]):
        done = process(*command, env=environment)
        # What the GitHub summary shows: both streams.
        for line in (*done.stdout.split("\n"), *done.stderr.split("\n")):
            assert not line.lstrip().startswith(("zoe", "small  19")), line
