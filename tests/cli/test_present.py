"""`tcptutor present` on the command line: what starts no lecture, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import here


@pytest.fixture(autouse=True)
def _own_folders(without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["--stop"], 1, "no lecture is running"),
        (["--stop", "--resume"], 2, "exclude each other"),
        (["--notes", "--watch"], 2, "omit one"),
        (["pacing", "--notes"], 2, "has its slides"),
        (["--resume", "--lecture", "mine.toml"], 2, "has its slides"),
        (["pacing"], 1, "terminal"),
        (["--resume"], 1, "terminal"),
        (["pacin", "--check"], 2, "did you mean pacing"),
        (["pacing/nowhere", "--check"], 2, "nowhere"),
    ],
)
def test_what_cannot_begin_is_one_line(words: list[str], code: int, expected: str) -> None:
    done = here("present", *words)
    assert done.returncode == code, done.stderr
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_nothing_is_made_for_a_lecture_that_cannot_begin(without_state: Path) -> None:
    here("present", "pacing")
    assert not (without_state / "tcptutor" / "lectures").exists()
