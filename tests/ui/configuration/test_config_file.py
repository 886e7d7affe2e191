"""The configuration file, also one that is damaged: each problem in a line with file and line, and the rest counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.journal.saved import Preferences, Settings
from tcptutor.ui.configuration.actions import load_actions
from tcptutor.ui.configuration.config_file import THEMES, read_config
from tcptutor.ui.configuration.configuration import configured, load_configuration
from tcptutor.ui.configuration.template import template
from tcptutor.ui.themes import LOOKS


def write(text: str, path: Path | None = None) -> Path:
    path = path or places.config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_themes_are_those_of_the_app() -> None:
    assert {*THEMES} == {*LOOKS}


def test_without_a_file_everything_has_its_default() -> None:
    found = load_configuration()
    assert (found.keys, found.keymap, found.problems, found.own.exists) == ({}, {}, (), False)


def test_tables_and_dotted_keys_name_the_same_action() -> None:
    write('theme = "light"\n[keys]\nlesson.run = "f5"\n"lesson.stop" = "f3"\n[keys.lesson]\n"hint" = "f4"\n')
    found = load_configuration()
    # One table cannot be written twice in TOML.
    assert found.problems
    write('theme = "light"\n[keys]\n"lesson.stop" = "f3"\n[keys.lesson]\nrun = "f5"\n"hint" = ["f4", "h"]\n')
    found = load_configuration()
    assert found.problems == ()
    assert found.keys == {"lesson.stop": ("f3",), "lesson.run": ("f5",), "lesson.hint": ("f4", "h")}
    assert found.own.preferences == Preferences(theme="light")


def test_each_mistake_has_its_line_and_the_rest_counts() -> None:
    path = write(
        '# mine\nthem = "dark"\nmotion = "no"\ndaily_minutes = 20\n\n[keys]\nlesson.run = 5\nlesson.stop = "f3"\n'
        'lesson.hintt = "f4"\nlesson.chart = [ "C" ]\n[other]\na = 1\n'
    )
    found = load_configuration()
    starts = [problem.removeprefix(f"{path}:").split(":")[0] for problem in found.problems]
    assert sorted(starts, key=int) == ["2", "3", "7", "9", "11"]
    assert found.own.preferences == Preferences(daily_minutes=20)
    assert found.keys == {"lesson.stop": ("f3",), "lesson.chart": ("C",)}
    assert all("\n" not in problem for problem in found.problems)


def test_the_written_file_counts_as_no_file_and_turned_on_as_the_defaults() -> None:
    text = template(load_actions(), "/etc/xdg/tcptutor/config.toml")
    write(text)
    assert load_configuration().own.preferences == Preferences()
    on = "\n".join(
        line[1:] if line.startswith("#") and line[1:2] != " " else line for line in text.split("\n")
    )
    assert len(on) < len(text) - 150
    write(on)
    found = load_configuration()
    assert (found.problems, found.keys) == ((), {})
    assert found.own.preferences == Preferences(
        theme="dark", motion=True, figures_in_words=False, daily_minutes=0, language="", bell=False
    )


def _no_toml(path: Path) -> None:
    path.write_text("theme = \n[[[")


def _not_utf8(path: Path) -> None:
    path.write_bytes(b'theme = "dark"\n# caf\xe9\n')


def _large(path: Path) -> None:
    path.write_bytes(b"#" * 10_000_000)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _unreadable(path: Path) -> None:
    path.write_text("theme = 1")
    path.chmod(0)


def _deep(path: Path) -> None:
    path.write_text("a = " + "[" * 50_000)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _circular(path: Path) -> None:
    path.symlink_to(path.name)


def _folder(path: Path) -> None:
    path.mkdir()


def _controls(path: Path) -> None:
    path.write_text('"\\u001b[31m" = 1\n')


@pytest.mark.parametrize(
    "make",
    [_no_toml, _not_utf8, _large, _pipe, _unreadable, _deep, _dangling, _circular, _folder, _controls],
)
def test_a_bad_file_is_a_line_and_never_an_error(make: Callable[[Path], None]) -> None:
    path = places.config_file()
    path.parent.mkdir(parents=True)
    make(path)
    if make is _unreadable and os.access(path, os.R_OK):
        pytest.skip("root reads every file")
    found = load_configuration()
    (problem,) = found.problems
    assert str(path) in problem
    assert problem.isprintable()
    assert found.keys == {}
    if make in (_no_toml, _not_utf8, _controls):
        assert f"{path}:{2 if make is _not_utf8 else 1}:" in problem


def test_the_users_file_counts_more_than_a_choice_and_the_machines_less(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    settings.set_theme("ansi")
    write('theme = "light"\ndaily_minutes = 30\n', places.site_config_file())
    again = configured(Settings(tmp_path))
    assert (again.theme, again.daily_minutes) == ("ansi", 30)
    write('theme = "high-contrast"\n')
    again = configured(Settings(tmp_path))
    assert again.theme == "high-contrast"
    again.set_theme("dark")
    assert again.theme == "dark"
    assert configured(Settings(tmp_path)).theme == "high-contrast"
    places.config_file().unlink()
    assert configured(Settings(tmp_path)).theme == "dark"


def test_a_choice_equal_to_the_default_counts_more_than_the_machines_file(tmp_path: Path) -> None:
    write("motion = false\n", places.site_config_file())
    assert not configured(Settings(tmp_path)).motion
    Settings(tmp_path).set_motion(True)
    assert configured(Settings(tmp_path)).motion


def test_the_users_keys_replace_the_machines() -> None:
    write('[keys]\nlesson.run = "f5"\nlesson.stop = "f3"\n', places.site_config_file())
    write('[keys]\nlesson.run = "f4"\n')
    assert load_configuration().keys == {"lesson.run": ("f4",), "lesson.stop": ("f3",)}


def test_a_missing_file_is_no_problem(tmp_path: Path) -> None:
    assert read_config(tmp_path / "none.toml").problems == ()
