"""Sheets that quote pages in another language, with the same marks."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path

from tests.command import here as tcptutor
from tests.course.translated import ENDING, write_translation
from tests.grading.evidence.student import KEY, LESSONS, Student, handed_in


def errs(one: Student) -> None:
    one.answer(1, "which", (1,))
    one.answer(1, "which", (0,))
    one.answer(1, "how-much", "3 KiB")


def sheet(root: Path, file: Path, target: Path, *language: str) -> str:
    done = tcptutor(
        "grade", file, "--key", KEY.code, "--course", root, "--sheets", target, "--replace", *language
    )
    assert done.returncode == 0, done.stderr
    (path,) = target.iterdir()
    return " ".join(unescape(re.sub("<[^>]*>", " ", path.read_text().partition("</style>")[2])).split())


def test_a_sheet_quotes_pages_in_a_language_with_the_same_marks(tmp_path: Path) -> None:
    root = Path(shutil.copytree(LESSONS, tmp_path / "lessons"))
    write_translation(root, "de")
    file = handed_in("ada", tmp_path / "ada", errs)
    english = sheet(root, file, tmp_path / "sheets")
    german = sheet(root, file, tmp_path / "sheets", "--language", "de")
    assert ENDING not in english
    for text in (f"Asked {ENDING}", f"“RTT {ENDING}” wrong", f"That is a time. {ENDING}"):
        assert text in german
    # The question with the student's own numbers, and its feedback.
    asked = re.search(r"A flow gets \d+ Mbit/s, and its RTT is \d+ ms\. How much is on the way\?", english)
    assert asked is not None
    assert f"{asked[0]} {ENDING}" in german
    assert f"window is throughput × RTT. {ENDING}" in german
    marks = re.compile(r"[\d.]+ of [\d.]+")
    assert marks.findall(german) == marks.findall(english)


def test_a_language_without_sheets_is_refused(tmp_path: Path) -> None:
    file = handed_in("ada", tmp_path / "ada", errs)
    assert tcptutor("grade", file, "--course", LESSONS, "--language", "de").returncode == 2
