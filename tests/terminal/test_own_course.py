"""A teacher's course in a real terminal: previewed while it is edited, and open next to the shipped one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tcptutor.base import places
from tests.cli.command import TCPTUTOR
from tests.terminal.tmux import Tmux

pytestmark = pytest.mark.terminal


@pytest.fixture
def folder(mark: str, without_state: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(places.assets() / "example-course", tmp_path / "mine"))


def test_a_preview_follows_the_files_and_leaves_no_trace(
    folder: Path, without_state: Path, tmp_path: Path
) -> None:
    tutor = Tmux(f"{TCPTUTOR} preview {folder} --backend replay", tmp_path, 80, 24)
    try:
        tutor.wait_for("no problems on this page", 60)
        page = folder / "01-one-link" / "01-to-read.md"
        page.write_text(page.read_text().replace("explanation =", "explanatio =", 1))
        tutor.wait_for(r"✗ 01-one-link/01-to-read.md:17", 60)
        page.write_text(
            page.read_text().replace("explanatio =", "explanation =").replace("three kinds", "a kind")
        )
        tutor.wait_for(r"Questions of a kind", 60)
        tutor.keys("q")
        tutor.wait_for_exit()
    finally:
        tutor.close()
    assert not list(without_state.rglob("journal.db"))


def test_a_student_changes_between_two_courses(folder: Path, without_state: Path, tmp_path: Path) -> None:
    tutor = Tmux(f"{TCPTUTOR} --course {folder} --backend replay", tmp_path, 80, 24)
    try:
        for here, there in (("My course", "How TCP gets"), ("How TCP gets", "My course")):
            tutor.wait_for(rf"^\s*{here}|\n\s+{here}", 60)
            tutor.keys("C-p")
            tutor.wait_for("Esc close")
            tutor.keys("change to")
            tutor.wait_for(rf"Change to {there}")
            tutor.keys("Enter")
        tutor.wait_for(r"\n\s+My course", 60)
        tutor.keys("q")
        tutor.wait_for_exit()
    finally:
        tutor.close()
    kept = {each.parent for each in without_state.rglob("journal.db")}
    assert kept == {without_state / "tcptutor", without_state / "tcptutor" / "courses" / "my-course"}
