"""`tcptutor preview`, up to the first screen: see tests/ui/test_preview.py for the rest."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.commands import preview
from tests.command import here as tcptutor


def test_what_is_no_course_is_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file.zip").write_text("")
    for given in (tmp_path, tmp_path / "none", tmp_path / "file.zip"):
        done = tcptutor("preview", given)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    done = tcptutor("preview", places.assets() / "example-course")  # without a terminal
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_folders_of_killed_previews_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in (
        f"tcptutor-preview-{ended.pid}-x",
        f"tcptutor-preview-{os.getpid()}-y",
        "tcptutor-preview-z",
    ):
        (tmp_path / name / "tcptutor").mkdir(parents=True)
    preview._remove_left_behind()
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {f"tcptutor-preview-{os.getpid()}-y", "tcptutor-preview-z"}
