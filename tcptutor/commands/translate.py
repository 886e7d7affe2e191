"""`tcptutor course translate`: how far a translation is, and the files that a translator fills in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tcptutor.authoring.translations import TranslationState, glossary_template, state_of, template
from tcptutor.base.columns import table
from tcptutor.base.errors import ContentError, TutorError, UsageError, quoted, refused
from tcptutor.base.files import atomic
from tcptutor.base.language_tags import normal_tag
from tcptutor.commands.output import print_json, print_lines, warn
from tcptutor.course import glossary
from tcptutor.course.languages import original_language
from tcptutor.course.lesson_file import PRETEST_FILE, LessonFile, module_folders, step_files
from tcptutor.course.outline import pages
from tcptutor.course.translated_files import Translation

_GLOSSARY = "glossary"
"""Target that is neither a module nor a page."""


def translate_course(folder: Path, language: str, target: str | None, replace: bool, as_json: bool) -> int:
    """Print the state of a translation, or write the files of `target`, and return the exit code.

    Args:
        folder: The course.
        language: Tag of the language.
        target: MODULE, MODULE/PAGE or glossary to write; None prints the state.
        replace: Write existing files anew, with their words.
        as_json: Print JSON.

    Raises:
        UsageError: The language, module or page does not exist.
        TutorError: A file cannot be read or written.
    """
    if not (folder / "course.toml").is_file():
        raise UsageError(f"{folder} is no course: a course's folder has a course.toml")
    tag = normal_tag(language)
    if not tag:
        raise UsageError(f"{quoted(language)} is no language tag: write it like de or pt-BR")
    if tag == original_language(folder):
        raise UsageError(f"the lessons themselves are in {tag}: name another language")
    translation = Translation(folder, tag)
    if target == _GLOSSARY:
        path = translation.file(folder / glossary.NAME).path
        return _report([_write_file(path, glossary_template(translation), replace)], as_json)
    if target is not None:
        return _write(translation, [*_files(folder, target)], replace, as_json)
    states = [each for file in _files(folder, "") if (each := _state(file, translation)) is not None]
    if as_json:
        print_json({"language": tag, "files": [_document(each) for each in states]})
        return 0
    begun = [each for each in states if each.translation.given]
    rows = [("file", "shown", "to compare", "problems"), *map(_row, begun)]
    print_lines(table(rows, right=(False, True, True, True)) if begun else [])
    shown, texts = sum(each.shown for each in states), sum(len(each.words.words) for each in states)
    print_lines(
        [
            f"{tag}: {len(begun)} of {len(states)} files begun, {shown} of {texts} texts shown; the rest is shown in"
            f" {original_language(folder)}",
            f"begin a page: tcptutor course translate {folder} {tag} MODULE/PAGE",
        ]
    )
    return 0


def _files(root: Path, target: str) -> Iterator[LessonFile]:
    """Yield the files of a module or page; of the complete course if `target` is empty."""
    if not target:
        yield LessonFile(root / "course.toml", root)
    chosen, folders = pages(root, target), module_folders(root)
    for module in chosen.modules:
        folder, whole = folders[module.id], "/" not in target and "." not in target
        if whole:
            yield LessonFile(folder / "module.toml", root)
        if whole and (folder / PRETEST_FILE).is_file():
            yield LessonFile(folder / PRETEST_FILE, root)
        wanted = {path for (of, _), path in chosen.files.items() if of == module.id}
        yield from (LessonFile(path, root) for path in step_files(folder) if path in wanted)


def _state(file: LessonFile, translation: Translation) -> TranslationState | None:
    try:
        return state_of(file, translation)
    except ContentError as error:
        warn(str(error))
        return None


def _write(translation: Translation, files: list[LessonFile], replace: bool, as_json: bool) -> int:
    written: list[str] = []
    for original in files:
        target = translation.file(original.path).path
        state = state_of(original, translation)
        written.append(_write_file(target, template(state), replace))
        for text in state.translation.left_over if written[-1] else ():
            warn(f"{target}: left out, since the page has no place for it: {quoted(text)}")
    return _report(written, as_json)


def _write_file(target: Path, text: str, replace: bool) -> str:
    """Write a file unless it exists, and return its name; empty if it was not written. Raises TutorError."""
    if target.exists() and not replace:
        warn(f"{target} exists: --replace keeps its words and adds what is missing")
        return ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TutorError(f"cannot write {target}: {refused(error)}") from None
    with atomic(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return str(target)


def _report(names: list[str], as_json: bool) -> int:
    """Print the names of the files that were written, and return the exit code."""
    written = [name for name in names if name]
    if as_json:
        print_json({"files": written})
    elif written:
        print_lines(f"wrote {name}" for name in written)
        print_lines(["translate the texts in place; a text left as it is counts as not translated"])
    return 0 if written else 1


def _row(state: TranslationState) -> tuple[str, str, str, str]:
    found = state.translation
    return (
        state.original.path.relative_to(state.original.root).as_posix(),
        f"{state.shown} of {len(state.words.words)}",
        str(len(found.changed) or ""),
        str(len(found.problems) or ""),
    )


def _document(state: TranslationState) -> dict[str, object]:
    return {
        "file": state.original.path.relative_to(state.original.root).as_posix(),
        "texts": len(state.words.words),
        "shown": state.shown,
        "changed": [key for key, _ in state.translation.changed],
        "problems": [f"{key}: {reason}".removeprefix(": ") for key, reason in state.translation.problems],
    }
