"""Languages of a course: which translations its folder has, and the files of each.

A translation is a folder beside the modules, named by a language tag (RFC 5646) such as `de` or `pt-BR`. Its files
have the names of the originals: `de/01-tcp-basics/02-slow-start.md`, `de/01-tcp-basics/module.toml`,
`de/course.toml`. Whatever a translation lacks is shown in the original.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tcptutor.base.errors import ContentError
from tcptutor.base.language_tags import best_language, normal_tag
from tcptutor.course.lesson_file import ORIGINAL_LANGUAGE, LessonFile, numbered
from tcptutor.course.translation import PageTranslation, PageWords, translate


def original_language(root: Path) -> str:
    """Return the language of the course's own lessons."""
    file = LessonFile(root / "course.toml", root)
    try:
        return normal_tag(str(file.tables(file.text()).get("language", ORIGINAL_LANGUAGE)))
    except ContentError:
        return ORIGINAL_LANGUAGE


def languages(root: Path) -> tuple[str, ...]:
    """Return the languages into which the course in `root` is translated, in alphabetical order."""
    return tuple(path.name for path in translation_folders(root) if normal_tag(path.name) == path.name)


def fitting_language(root: Path, wanted: str) -> str | None:
    """Return the translation for the wanted tag, an empty string for the original, None if the course has neither."""
    own = original_language(root)
    found = best_language(wanted, (*languages(root), own))
    return ("" if found == own else found) if found else None


def translation_folders(root: Path) -> Iterator[Path]:
    """Yield the folders that have modules and are no module: translations, some perhaps with a wrong name."""
    for path in sorted(root.glob("*/")):
        if numbered(path.name) is None and not path.name.startswith(".") and any(_module_folders(path)):
            yield path


def _module_folders(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob("[0-9][0-9]-*") if path.is_dir())


class Translation:
    """The files of a course in one language, each read when it is needed."""

    def __init__(self, root: Path, language: str) -> None:
        self.root, self.language = root, language

    def file(self, original: Path) -> LessonFile:
        """Return the file that translates a file of the course. It may not exist."""
        return LessonFile(self.root / self.language / original.relative_to(self.root), self.root)

    def read_page(self, original: Path, table: Mapping[str, Any], prose: str) -> PageTranslation:
        """Return the translated words for a page's front matter and Markdown.

        Raises:
            ContentError: The translation's file cannot be read.
        """
        file = self.file(original)
        if not file.path.is_file():
            return PageTranslation()
        front, text = file.split()
        return translate(PageWords.of(table, prose), file.tables(front), text)

    def read_table(self, original: Path, table: Mapping[str, Any]) -> PageTranslation:
        """Return the translated words for a file of TOML alone. Raises ContentError as `read_page`."""
        file = self.file(original)
        if not file.path.is_file():
            return PageTranslation()
        return translate(PageWords.of(table, ""), file.tables(file.text()), "")

    def page(self, original: Path, table: Mapping[str, Any], prose: str) -> PageTranslation:
        """Return the translated words for a page; none for a damaged file, which the linter reports."""
        try:
            return self.read_page(original, table, prose)
        except ContentError:
            return PageTranslation()

    def table(self, original: LessonFile, table: dict[str, Any]) -> dict[str, Any]:
        """Return a table of TOML with the translated words."""
        try:
            return self.read_table(original.path, table).apply(table, "")[0]
        except ContentError:
            return table

    def title(self, original: LessonFile) -> str:
        """Return the title of a page in this language; empty if it is not translated."""
        try:
            if not self.file(original.path).path.is_file():
                return ""
            front, prose = original.split()
            words = self.read_page(original.path, original.tables(front), prose).words
        except ContentError:
            return ""
        return words.get(("title",), "")
