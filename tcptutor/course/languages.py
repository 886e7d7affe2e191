"""Languages of a course: the translations in its folder.

A translation is a folder next to the modules, named by a language tag (RFC 5646) such as `de` or `pt-BR`. Its files
have the names of the originals: `de/01-tcp-basics/02-slow-start.md`, `de/01-tcp-basics/module.toml`,
`de/course.toml`. Missing translations fall back to the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tcptutor.base.errors import ContentError
from tcptutor.base.language_tags import best_language, normal_tag
from tcptutor.course.lesson_file import ORIGINAL_LANGUAGE, LessonFile, numbered


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
