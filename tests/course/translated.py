"""Translations made by rule, of any course: each text with a word at its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tcptutor.authoring.translations import state_of, template
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.translated_files import Translation
from tcptutor.course.translation import PageTranslation

ENDING = "übersetzt"


def marked(text: str) -> str:
    """The text with a word at its end."""
    ends_in_figure = text.rstrip().rpartition("\n")[2].startswith("![")
    return f"{text}\n\n{ENDING}" if ends_in_figure else f"{text} {ENDING}"


def write_translation(
    root: Path, language: str, *files: str, change: Callable[[str], str] = marked, figures: bool = False
) -> None:
    """Translate these files of a course, by default all pages, without the labels of figures unless wanted."""
    translation = Translation(root, language)
    found = [root / name for name in files] or sorted(root.glob("[0-9][0-9]-*/[0-9][0-9]-*.md"))
    for path in found:
        state = state_of(LessonFile(path, root), translation)
        words = {
            place: change(text)
            for place, text in state.words.words.items()
            if figures or place[0] != "figure" or place[-1] == "caption"
        }
        target = translation.file(path).path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(template(state._replace(translation=PageTranslation(given=words))))
