"""The page for teachers and the page on grading name commands and options that exist."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import click
import pytest

from tcptutor.base import places
from tcptutor.commands.command_line import main
from tcptutor.course import load
from tcptutor.course.marks import MarkScheme
from tcptutor.course.pack import write_pack

FOLDER = places.assets() / "documentation"


def test_the_page_for_teachers_is_short() -> None:
    assert len((FOLDER / "course.md").read_text().splitlines()) <= 80


@pytest.mark.parametrize("page", ["course.md", "grading.md"])
def test_commands_on_the_page_have_their_options(page: str) -> None:
    text = (FOLDER / page).read_text()
    commands = re.findall(r"`(tcptutor [^`]+)`", text) + re.findall(
        r"^ {4}(tcptutor .+?)(?: {3}|$)", text, re.M
    )
    assert len(commands) > 10
    for command in commands:
        context, found = click.Context(main), main
        words = command.split()[1:]
        while words and isinstance(found, click.Group) and (inner := found.get_command(context, words[0])):
            found, words = inner, words[1:]
        assert not isinstance(found, click.Group) or not words or words[0].startswith("-"), command
        known = {"--help", *(option for each in found.params for option in each.opts)}
        assert set(re.findall(r"(?<!\S)\[?(--[a-z-]+)", command)) <= known, command


@pytest.mark.parametrize("page", ["course.md", "grading.md"])
def test_the_course_on_the_page_can_be_packed_as_written(page: str, tmp_path: Path) -> None:
    text = (FOLDER / page).read_text()
    (written,) = re.findall(r"(?:^(?: {4}.*)?\n)*^ {4}\[marks\]\n(?:^ {4}.*\n)*", text, re.M)
    folder = shutil.copytree(places.lessons(), tmp_path / "mycourse")
    (folder / "course.toml").write_text(re.sub(r"^ {4}", "", written, flags=re.M))
    packed = write_pack(folder, tmp_path / "mycourse.tcpcourse")
    ours, course = load(places.lessons()), load(folder)
    assert packed.id != ours.id
    assert packed.version
    assert [each.id for each in course.modules] == [each.id for each in ours.modules]
    assert course.marks != MarkScheme()
    assert course.marks.deadline
