"""Translations of a course: their problems, and the files that translators fill in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tcptutor.authoring.choices import choice_problems
from tcptutor.authoring.figures import figure_problems
from tcptutor.authoring.texts import length_problems
from tcptutor.base.errors import ContentError, near
from tcptutor.base.language_tags import normal_tag
from tcptutor.course import glossary
from tcptutor.course.experiments import Catalogue
from tcptutor.course.languages import original_language, translation_folders
from tcptutor.course.lesson_file import LessonFile, numbered, toml_value
from tcptutor.course.loader import StepLoader
from tcptutor.course.step import Step
from tcptutor.course.translated_files import Translation
from tcptutor.course.translated_glossary import TranslatedGlossaryFile, TranslatedTerm, term_digest
from tcptutor.course.translation import ORIGINAL, PROSE, PageTranslation, PageWords, Place, part_of


class TranslationFindings(NamedTuple):
    """What the linter finds in all translations of a course, a line each."""

    problems: tuple[str, ...]
    changed: tuple[str, ...]
    """Parts that were translated from an earlier text, which are shown in the original."""


def find_problems(root: Path) -> TranslationFindings:
    """Check every translation of the course in `root`."""
    problems: list[str] = []
    changed: list[str] = []
    if not original_language(root):
        file = LessonFile(root / "course.toml", root)
        problems.append(str(file.problem("is no language tag: write it like en or pt-BR", "language")))
    for folder in translation_folders(root):
        if wrong := _name_problem(folder.name, root):
            problems.append(str(LessonFile(folder, root).problem(wrong)))
            continue
        translation = Translation(root, folder.name)
        loader = StepLoader(root, Catalogue(root), translation)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            file, original = LessonFile(path, root), root / path.relative_to(folder)
            try:
                found = _check(file, original, translation, loader)
            except ContentError as error:
                problems.append(str(error))
                continue
            problems += (str(file.problem(reason, key)) for key, reason in found.problems)
            changed += (str(file.problem(reason, key)) for key, reason in found.changed)
    return TranslationFindings(tuple(problems), tuple(changed))


def _name_problem(name: str, root: Path) -> str:
    tag = normal_tag(name)
    if not tag:
        return "is no language tag: rename the folder of the translation, such as de or pt-BR"
    if tag != name:
        return f"is the language tag {tag} in another spelling: rename the folder"
    if tag == original_language(root):
        return "is the language of the lessons themselves: change the page, or `language` in course.toml"
    return ""


def _check(file: LessonFile, original: Path, translation: Translation, loader: StepLoader) -> PageTranslation:
    """Return what a file of a translation holds. Raises ContentError for a file that cannot be shown at all."""
    source = LessonFile(original, file.root)
    if original == file.root / glossary.NAME and original.is_file():
        found = translation.read_glossary(source.tables(source.text()))
        return PageTranslation(problems=found.problems, changed=found.changed)
    if not original.is_file() or not _is_translatable(original, file.root):
        raise file.problem(_no_original(original, file.root))
    words = _read(source, translation)
    module = numbered(original.parent.name)
    if original.suffix != ".md" or module is None:
        return words
    try:
        before = loader.load_translated(module[1], source, None)
    except ContentError:  # reported for the page itself
        return words
    try:
        shown = loader.load_translated(module[1], source, partial(translation.page, original))
    except ContentError as error:
        raise file.problem(f"cannot be shown: {str(error).partition(': ')[2]}") from None
    known = {key for key, _ in _shown_problems(before)}
    new = tuple(each for each in _shown_problems(shown) if each[0] not in known)
    return words._replace(problems=(*words.problems, *new))


def _shown_problems(step: Step) -> Iterator[tuple[str, str]]:
    yield from (("prose", reason) for reason in length_problems(step.prose))
    yield from figure_problems(step)
    yield from choice_problems(step)


def _read(original: LessonFile, translation: Translation) -> PageTranslation:
    if original.path.suffix == ".md":
        front, prose = original.split()
        return translation.read_page(original.path, original.tables(front), prose)
    return translation.read_table(original.path, original.tables(original.text()))


def _is_translatable(original: Path, root: Path) -> bool:
    return original.suffix == ".md" or original.name == "module.toml" or original == root / "course.toml"


def _no_original(original: Path, root: Path) -> str:
    names = sorted(path.name for path in original.parent.glob("*.md")) if original.parent != root else []
    entry = numbered(original.stem)
    moved = next((name for name in names if entry and name[3:] == f"{entry[1]}.md"), "")
    if moved:
        return f"translates a page that has another number now: rename the file to {moved}"
    similar = near(original.name, names)
    return f"translates no file of the course{f' ({similar})' if similar else ''}: rename it, or remove it"


class TranslationState(NamedTuple):
    """State of a file's translation."""

    original: LessonFile
    words: PageWords
    translation: PageTranslation

    @property
    def shown(self) -> int:
        """Number of texts that are shown in the language."""
        return len(self.translation.words)


def state_of(original: LessonFile, translation: Translation) -> TranslationState:
    """Return how far a page, module.toml or course.toml is translated. Raises ContentError."""
    if original.path.suffix == ".md":
        front, prose = original.split()
        words = PageWords.of(original.tables(front), prose)
    else:
        words = PageWords.of(original.tables(original.text()), "")
    return TranslationState(original, words, _read(original, translation))


def template(state: TranslationState) -> str:
    """Return the file to fill in: the translated words so far, and the original's words in the place of others."""
    words, given = state.words, state.translation.given
    trees: dict[Place, dict[str, Any]] = {}
    prose = ""
    for place, text in words.words.items():
        if place == (PROSE,):
            prose = given.get(place, text)
            continue
        part = part_of(place)
        _insert(trees.setdefault(part, {}), place[len(part) :], given.get(place, text))
    lines: list[str] = []
    for part, digest in words.digests.items():
        tree: dict[str, Any] = {"id": words.ids[str(part[0])][int(part[1])]} if len(part) > 1 else {}
        tree[ORIGINAL] = state.translation.stated.get(part) or digest
        tree.update(trees.get(part, {}))
        if part:
            lines += ["", f"[[{part[0]}]]" if len(part) > 1 else f"[{part[0]}]"]
        lines += _table(tree, str(part[0]) if part else "")
    text = "\n".join(lines)
    return f"+++\n{text}\n+++\n{prose}\n" if state.original.path.suffix == ".md" else f"{text}\n"


def glossary_template(translation: Translation) -> str:
    """Return the glossary to fill in: the translated terms so far, and the original's for the others."""
    original = LessonFile(translation.root / glossary.NAME, translation.root)
    file = translation.file(original.path)
    known = file.read(TranslatedGlossaryFile).terms if file.path.is_file() else ()
    given = {term.word: term for term in known}
    lines: list[str] = []
    for table in original.tables(original.text()).get("term", ()):
        word, text = str(table["word"]), str(table["text"])
        term = given.get(word) or TranslatedTerm(word=word, original=term_digest(text), name=word, text=text)
        words: dict[str, Any] = {"word": word, ORIGINAL: term.original, "name": term.name, "text": term.text}
        if term.synonyms:
            words["synonyms"] = [*term.synonyms]
        lines += ["[[term]]", *_table(words, ""), ""]
    return "\n".join(lines)


def _insert(tree: dict[str, Any], place: Place, text: str) -> None:
    at: Any = tree
    for step, following in zip(place, (*place[1:], None), strict=True):
        if isinstance(step, int):
            at += [{} for _ in range(step + 1 - len(at))]
        if following is None:
            at[step] = text
        elif isinstance(step, int):
            at = at[step]
        else:
            at = at.setdefault(step, [] if isinstance(following, int) else {})


def _table(tree: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the lines of a table: texts, lists of texts, and then the tables in it."""
    inner = {}
    for key, value in tree.items():
        if isinstance(value, str):
            yield f"{key} = {_text(value)}"
        elif isinstance(value, list) and any(isinstance(each, str) for each in value):
            # A text that the original leaves empty was inserted as a table.
            yield from (f"{key} = [", *(f"    {toml_value(each or '')}," for each in value), "]")
        else:
            inner[key] = value
    for key, value in inner.items():
        full = f"{name}.{key}".lstrip(".")
        for each in value if isinstance(value, list) else [value]:
            yield from ("", f"[[{full}]]" if isinstance(value, list) else f"[{full}]")
            yield from _table(each, full)


def _text(text: str) -> str:
    if "\n" in text and "'''" not in text:
        return f"'''\n{text.strip()}\n'''"
    return toml_value(text)
