"""Every text of every page has a place in a translation: the shipped course, and one with all kinds of tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tcptutor.authoring.translations import state_of
from tcptutor.base import places
from tcptutor.course.languages import languages
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.translated_files import Translation
from tcptutor.course.translation import lost
from tests.course.translated import ENDING, write_translation

EXAMPLE = places.assets() / "example-course"


@pytest.mark.parametrize("original", [EXAMPLE, places.shipped_lessons()], ids=["example", "shipped"])
def test_a_translation_of_all_pages_is_shown_whole(original: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(original, tmp_path / "lessons"))
    for language in languages(root):
        shutil.rmtree(root / language)
    write_translation(root, "fr", figures=True)
    found = 0
    for path in sorted(root.glob("[0-9][0-9]-*/[0-9][0-9]-*.md")):
        state = state_of(LessonFile(path, root), Translation(root, "fr"))
        assert state.translation.problems == state.translation.changed == ()
        shown = {place: text.split() for place, text in state.translation.words.items()}
        assert shown == {place: [*text.split(), ENDING] for place, text in state.words.words.items()}
        found += 1
    assert found >= 3


@pytest.mark.parametrize(
    ("original", "text", "reason"),
    [
        ("Each of 1,448 bytes.", "Jedes mit 1448 Byte.", ""),
        ("Each of 1,448 bytes.", "Jedes mit 1.448 Byte.", "number"),
        ("About 9.56 Mbit/s.", "Etwa 9,56 Mbit/s.", "number"),
        ("Two of h1's ACKs, 20 ms apart.", "Zwei ACKs von h1 im Abstand von 20 ms.", ""),
        ("Press `v`.", "Drücke v.", "code"),
        ("See [](page:slow-start).", "Siehe [dort](page:slow-start).", ""),
        ("See [](page:slow-start).", "Siehe [](page:slow-begin).", "link"),
        ("{rate} at {2 ** shift: number}", "{2 ** shift: number} bei {rate}", ""),
        ("{rate} at {trip}", "{rate} bei {Zeit}", "placeholder"),
        ("Look:\n\n![](figure:knee)", "Sieh:\n\n![](figure:knie)", "figure"),
        ("It is in [0, 2) and **bold**.", "Es liegt in [0, 2) und ist **fett**.", ""),
    ],
)
def test_a_text_keeps_what_is_no_word(original: str, text: str, reason: str) -> None:
    assert reason in lost(original, text)
    assert bool(lost(original, text)) == bool(reason)
