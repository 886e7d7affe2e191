"""Everything that a page shows has words, and no word needs a drawing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tcptutor.course import load as load_course
from tcptutor.course.outline import Module
from tcptutor.plain import asking
from tcptutor.plain.letters import readable
from tcptutor.plain.prose import figure_words, paragraphs
from tests.plain.typist import FORBIDDEN

COURSE = load_course(None)


@pytest.mark.parametrize("module", COURSE.modules, ids=[each.id for each in COURSE.modules])
def test_every_page_reads_without_drawings(module: Module) -> None:
    told = 0
    for step in (*module.steps, *([module.pretest] if module.pretest else [])):
        texts = [
            each.text
            for markdown in (step.prose, step.after_run, step.published)
            for each in paragraphs(markdown, step.figures)
        ]
        for activity in (each.with_numbers(each.draw_numbers("any")) for each in step.activities):
            texts += [each.text for each in asking.question(activity, range(len(activity.listed)))]
        for text in texts:
            assert not FORBIDDEN.search(readable(text)), (step.id, text)
            assert readable(text, "ascii").isascii(), (step.id, text)
            assert "**" not in text and "](" not in text, (step.id, text)
        told += len(texts)
        for figure in step.figures:
            words = figure_words(figure)
            assert len(words.split()) > 5 and words.rstrip().endswith((".", "?", "!", ":", ")")), (
                step.id,
                words,
            )
    assert told > 100


def test_a_table_is_read_row_by_row_with_the_names_of_its_columns() -> None:
    table = "| loss | rate |\n| --- | --- |\n| 0.1 % | 9.5 Mbit/s |\n| 1 % | 3 Mbit/s |"
    texts = [each.text for each in paragraphs(table)]
    assert texts[1:] == ["- loss: 0.1 %; rate: 9.5 Mbit/s", "- loss: 1 %; rate: 3 Mbit/s"]


@pytest.mark.parametrize(
    ("text", "utf8", "ascii_"),
    [
        ("✓ done", "yes done", "yes done"),
        ("█▄⣿ 9 Mbit/s", " 9 Mbit/s", " 9 Mbit/s"),
        ("h1 → h2", "h1 to h2", "h1 to h2"),
        ("2 × √2 ± 1 µs…", "2 × √2 ± 1 µs…", "2 x sqrt 2 +/- 1 us..."),
        ("\x1b[31mred", "\\x1b[31mred", "\\x1b[31mred"),
    ],
)
def test_characters_fit_the_terminal(text: str, utf8: str, ascii_: str) -> None:
    assert readable(text) == utf8
    assert readable(text, "ascii") == ascii_


@pytest.mark.parametrize(
    ("locale", "wanted"), [({"LANG": "C"}, "ascii"), ({"LC_ALL": "C"}, "ascii"), ({}, "utf-8")]
)
def test_the_locale_c_is_seen_though_python_replaces_it(locale: dict[str, str], wanted: str) -> None:
    asked = "from tcptutor.plain.letters import encoding_of_terminal as of; print(of())"
    environment = {"PATH": os.environ["PATH"], **locale}
    done = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == wanted
