"""`tcptutor config`: the file it writes, what it shows, and the mistakes it finds."""

from __future__ import annotations

import json
import os

from tcptutor.base import places
from tests.command import here as tcptutor


def test_the_written_file_has_no_mistakes_and_is_not_overwritten() -> None:
    done = tcptutor("config", "write")
    path = places.config_file()
    assert (done.returncode, done.stdout) == (0, f"{path}\n")
    text = path.read_text(encoding="utf-8")
    assert '#lesson.run = "r"' in text
    assert tcptutor("config", "check").returncode == 0
    path.write_text('theme = "light"\n')
    refused = tcptutor("config", "write")
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert tcptutor("config", "write", "--force").returncode == 0
    assert path.read_text(encoding="utf-8") == text
    kept = [each for each in path.parent.iterdir() if each != path]
    assert [each.read_text() for each in kept] == ['theme = "light"\n']


def test_a_mistake_has_its_line_and_the_exit_code_of_a_failed_check() -> None:
    path = places.config_file()
    path.parent.mkdir(parents=True)
    path.write_text('[keys]\nlesson.runn = "f5"\n')
    done = tcptutor("config", "check")
    assert done.returncode == 1
    assert done.stdout.startswith(f"{path}:2: ")
    assert "lesson.run?" in done.stdout
    document = json.loads(tcptutor("config", "check", "--json").stdout)
    assert len(document["problems"]) == 1


def test_each_setting_says_where_it_is_from() -> None:
    path = places.config_file()
    path.parent.mkdir(parents=True)
    path.write_text('theme = "light"\n[keys]\nlesson.run = ["f5", "r"]\n')
    document = json.loads(tcptutor("config", "--json").stdout)
    assert document["settings"]["theme"] == {"value": "light", "from": f"from {path}:1"}
    assert document["settings"]["motion"] == {"value": True, "from": "default"}
    assert document["keys"] == {"lesson.run": ["F5", "r"]}
    assert "F5 r" in tcptutor("config").stdout


def test_changed_keys_are_marked_and_words_choose_lines() -> None:
    path = places.config_file()
    path.parent.mkdir(parents=True)
    path.write_text('[keys]\nlesson.run = "f5"\n')
    lines = tcptutor("config", "keys", "lesson.", "experiment").stdout.splitlines()
    assert [line.split()[:3] for line in lines if line.startswith("*")] == [["*", "lesson.run", "F5"]]
    listed = json.loads(tcptutor("config", "keys", "--json").stdout)
    assert [each["action"] for each in listed if each["is_changed"]] == ["lesson.run"]
    none = tcptutor("config", "keys", "nothing-like-this")
    assert none.returncode == 2


def test_a_pipe_in_place_of_the_file_is_neither_read_nor_replaced() -> None:
    path = places.config_file()
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert tcptutor("config", "check").returncode == 1
    assert tcptutor("config").returncode == 0
    assert tcptutor("config", "write", "--force").returncode == 2
    assert path.is_fifo()
