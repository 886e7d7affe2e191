"""Translations of a course: begun, filled in, chosen, packed, and wrong in every way a translator may be."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from tcptutor.authoring.translations import find_problems
from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.commands.language import chosen_language
from tcptutor.course.activities.choice import SingleChoice
from tcptutor.course.glossary import glossary, of_name
from tcptutor.course.languages import languages
from tcptutor.course.outline import Course, OpenedCourse
from tcptutor.course.pack import lesson_hashes
from tcptutor.course.sources import course_folder
from tests.command import here as tcptutor
from tests.course.translated import ENDING, write_translation
from tests.grading.evidence.student import LESSONS

ASKED = "01-small/01-asked.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LESSONS, tmp_path / "lessons"))


@pytest.fixture
def page(root: Path) -> Path:
    """The translated first page."""
    write_translation(root, "de", ASKED)
    return root / "de" / ASKED


def opened(root: Path, language: str = "de") -> Course:
    return OpenedCourse(root, language).course


def first_question(course: Course) -> SingleChoice:
    (question,) = (each for each in course.modules[0].steps[0].activities if isinstance(each, SingleChoice))
    return question


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_page_is_begun_with_the_words_alone_and_shown_as_far_as_it_is_translated(root: Path) -> None:
    done = tcptutor("course", "translate", root, "de", "small/asked")
    assert done.returncode == 0
    path = root / "de" / ASKED
    front = tomllib.loads(path.read_text().split("+++")[1])
    assert "correct" not in path.read_text() and "answer =" not in path.read_text()
    assert [choice["text"] for choice in front["question"][0]["choice"]] == ["cwnd", "RTT", "MSS"]
    assert opened(root).modules[0].steps[0] == opened(root, "").modules[0].steps[0]
    edit(path, "Which of these is a window?", "Was davon ist ein Fenster?")
    german, original = first_question(opened(root)), first_question(opened(root, ""))
    assert german.prompt == "Was davon ist ein Fenster?"
    assert german.explanation == original.explanation
    state = json.loads(tcptutor("course", "translate", root, "de", "--json").stdout)
    assert {each["file"]: each["shown"] for each in state["files"]}[ASKED] == 1


def test_a_file_written_anew_keeps_its_words_and_gets_what_is_missing(root: Path, page: Path) -> None:
    edit(page, f'feedback = "That is a time. {ENDING}"\n', "")
    before = page.read_text()
    assert tcptutor("course", "translate", root, "de", "small/asked").returncode == 1
    assert page.read_text() == before
    assert tcptutor("course", "translate", root, "de", "small/asked", "--replace").returncode == 0
    assert 'feedback = "That is a time."' in page.read_text()
    assert page.read_text().count(ENDING) == before.count(ENDING)


def test_choices_keep_their_order_ids_and_right_answer(root: Path, page: Path) -> None:
    german, original = first_question(opened(root)), first_question(opened(root, ""))
    assert german.listed != original.listed
    assert (german.entry_ids, german.right) == (original.entry_ids, original.right)
    assert german.mark(original.entry_ids[:1]).correct
    assert not german.mark(original.entry_ids[1:2]).correct
    assert lesson_hashes(opened(root)) == lesson_hashes(OpenedCourse(LESSONS).course)


def test_a_part_whose_original_changed_is_shown_in_the_original_and_named_as_a_warning(
    root: Path, page: Path
) -> None:
    edit(root / ASKED, "Which of these is a window?", "Which of these is no window?")
    assert first_question(opened(root)).prompt == "Which of these is no window?"
    assert first_question(opened(root)).listed == ("cwnd", "RTT", "MSS")
    assert ENDING in opened(root).modules[0].steps[0].title
    findings = find_problems(root)
    assert findings.problems == ()
    (line,) = findings.changed
    assert "de/01-small/01-asked.md: question which" in line
    edit(page, page.read_text().split('id = "which"\noriginal = "')[1][:12], line.rpartition('= "')[2][:12])
    assert ENDING in first_question(opened(root)).prompt
    assert find_problems(root).changed == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{rate}", "", "question how-much prompt: lacks the placeholder {rate}"),
        ("{trip}", "{trip} and {tripp}", "question how-much prompt: has the placeholder {tripp}"),
        ('text = "MSS ', 'text = "5 MSS ', "question which choice[3].text: has the number 5"),
        ('id = "which"', 'id = "whicch"', "question whicch: is not on the page"),
        ('title = "', 'correct = "true"\ntitle = "', "correct: is not among the words"),
        ("+++\n", "", "the first line must be +++"),
        ('title = "', 'title = ', "not valid TOML"),
        (
            "[[question]]\nid = \"how-much\"",
            '[[question.choice]]\ntext = "RTO"\n\n[[question]]\nid = "how-much"',
            "question which choice[4].text: is not among the words",
        ),
        ('[[question]]\nid = "which"\noriginal', '[[question]]\nid = "which"\nx', "which.original: is missing"),
    ],
)  # fmt: skip
def test_each_mistake_has_a_line_and_the_student_sees_the_original_there(
    root: Path, page: Path, old: str, new: str, said: str
) -> None:
    edit(page, old, new)
    problems = [line for line in find_problems(root).problems if said in line]
    assert problems
    assert all(line.startswith("lessons/de/01-small/01-asked.md: ") and "\n" not in line for line in problems)
    shown, original = opened(root).modules[0].steps[0], opened(root, "").modules[0].steps[0]
    assert [each.id for each in shown.activities] == [each.id for each in original.activities]
    assert "how-much" in [each.id for each in shown.activities]
    (_, numeric), (_, before) = shown.activities, original.activities
    if "how-much" in said:
        assert getattr(numeric, "prompt", "") == getattr(before, "prompt", "")


def test_folders_and_files_without_an_original_are_named(root: Path, page: Path) -> None:
    page.rename(page.with_name("07-asked.md"))
    page.with_name("09-gone.md").write_text("+++\n+++\n")
    shutil.copytree(root / "de", root / "german")
    shutil.copytree(root / "de", root / "de_AT")
    problems = [line.removeprefix("lessons/") for line in find_problems(root).problems]
    assert [line.partition(": ")[0] for line in problems] == [
        "de/01-small/07-asked.md", "de/01-small/09-gone.md", "de_AT", "german",
    ]  # fmt: skip
    assert "rename the file to 01-asked.md" in problems[0]
    assert "de-AT" in problems[2]
    assert languages(root) == ("de",)
    assert tcptutor("lint", root).returncode == 1


def test_terms_are_explained_in_the_language_and_found_by_both_names(root: Path, page: Path) -> None:
    (root / "glossary.toml").write_text(
        '[[term]]\nword = "window"\ntext = "What may be in flight."\npage = "small/asked"\n'
        '[[term]]\nword = "loss"\ntext = "A packet that never arrives."\npage = "small/asked"\n'
    )
    assert tcptutor("course", "translate", root, "de", "glossary").returncode == 0
    file = root / "de" / "glossary.toml"
    edit(
        file,
        'name = "window"\ntext = "What may be in flight."',
        'name = "Fenster"\ntext = "Was unterwegs sein darf."',
    )
    edit(root / "glossary.toml", "never arrives", "gets lost")
    terms = glossary(root, "de")
    assert [(term.word, term.text) for term in terms] == [
        ("Fenster", "Was unterwegs sein darf."), ("loss", "A packet that gets lost."),
    ]  # fmt: skip
    assert of_name(terms, "window") == of_name(terms, "Fenster") == terms[0]
    (changed,) = find_problems(root).changed
    assert "de/glossary.toml: term loss: the original has changed" in changed
    edit(file, 'word = "loss"', 'word = "lost"')
    assert any("term lost: is not in the glossary" in line for line in find_problems(root).problems)


def test_a_pack_has_the_translations(root: Path, page: Path, tmp_path: Path) -> None:
    assert tcptutor("course", "pack", root, "-o", tmp_path / "x.tcpcourse").returncode == 0
    unpacked = course_folder(tmp_path / "x.tcpcourse")
    assert ENDING in first_question(opened(unpacked)).prompt


def test_the_language_is_that_of_the_option_then_the_file_then_the_locale(
    root: Path, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "lessons", lambda: root)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert chosen_language(None) == ""
    monkeypatch.setenv("LANG", "de_AT.UTF-8@euro")
    assert chosen_language(None) == "de"
    monkeypatch.setenv("LC_MESSAGES", "fr_FR.UTF-8")
    assert chosen_language(None) == ""
    monkeypatch.setenv("LC_ALL", "de_DE")
    assert (chosen_language(None), chosen_language("en"), chosen_language("DE")) == ("de", "", "de")
    places.config_file().parent.mkdir(parents=True)
    places.config_file().write_text('language = "en"\n')
    assert (chosen_language(None), chosen_language("de")) == ("", "de")
    with pytest.raises(UsageError, match="no language 'fr'"):
        chosen_language("fr")


@pytest.mark.parametrize("words", [("deutsch",), ("en",), ("de", "small/no-such-page"), ("xx",)])
def test_what_cannot_be_translated_is_refused(root: Path, words: tuple[str, ...]) -> None:
    done = tcptutor("course", "translate", root, *words)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
