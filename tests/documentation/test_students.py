"""The page for students: at most 80 lines, with commands, keys and marks that exist."""

from __future__ import annotations

import re

import click

from tcptutor.base import places
from tcptutor.commands.command_line import main
from tcptutor.course.marks import MarkScheme
from tcptutor.course.rules import activity_rule

PAGE = places.assets() / "documentation" / "students.md"


def test_the_page_for_students_is_short_and_names_commands_that_exist() -> None:
    lines = PAGE.read_text().splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 120
    named = {
        match[1]
        for line in lines
        for match in re.finditer(r"(?:`|^ {4})tcptutor ((?:journal )?[a-z]+)", line)
    }
    assert {"enrol", "submit", "journal export", "journal import"} <= named
    context = click.Context(main)
    for words in named:
        group: click.Command | None = main
        for word in words.split():
            assert isinstance(group, click.Group), words
            group = group.get_command(context, word)
        assert group is not None, words


def test_the_page_for_students_has_the_default_marks() -> None:
    text = PAGE.read_text()
    assert activity_rule(MarkScheme(), "question") == "1 mark; each wrong try halves it; a hint takes a fifth"
    assert "| a question | 1; each wrong try halves it |" in text
    assert "| a hint | takes a fifth of" in text
