"""Files of a translation, read page by page; damaged files are skipped, and the linter reports them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcptutor.base.errors import ContentError
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.translated_glossary import MergedGlossary, TranslatedGlossaryFile, merge_terms
from tcptutor.course.translation import PageTranslation, PageWords, translate


class Translation:
    """The files of a course's translation into a language, read on demand."""

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
        """Return the translated words of a TOML file without prose. Raises ContentError as `read_page`."""
        file = self.file(original)
        if not file.path.is_file():
            return PageTranslation()
        return translate(PageWords.of(table, ""), file.tables(file.text()), "")

    def read_glossary(self, table: Mapping[str, Any]) -> MergedGlossary:
        """Return the glossary with the translated terms. Raises ContentError as `read_page`."""
        file = self.file(self.root / "glossary.toml")
        found = file.read(TranslatedGlossaryFile) if file.path.is_file() else TranslatedGlossaryFile()
        return merge_terms(table.get("term", ()), found.terms)

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
