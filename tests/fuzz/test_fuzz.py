"""Two hundred mutated files for each reader, the same ones each time; `python -m tests.fuzz` takes others."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from tcptutor.base.errors import TutorError
from tests.fuzz.mutate import bomb, mutated
from tests.fuzz.reader import Reader, failure, failures
from tests.fuzz.readers import readers

FILES = 200
CHUNK = 20
"""Files of one test."""


@pytest.mark.parametrize("chunk", range(FILES // CHUNK))
@pytest.mark.parametrize("name", readers())
def test_readers_accept_or_refuse_mutated_files(name: str, chunk: int) -> None:
    first = chunk * CHUNK
    assert list(failures(readers()[name], range(first, first + CHUNK))) == []


def test_mutations_are_reproducible() -> None:
    data = gzip.compress(b'{"a": [1, 2, 3], "b": "text"}')
    first, again = (mutated(data, random.Random("x 5")) for _ in range(2))
    assert first == again
    assert len({mutated(data, random.Random(f"x {number}")) for number in range(100)}) > 80


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise ValueError('no')", "ValueError"),
        ("raise RecursionError", "RecursionError"),
        (r"raise TutorError('\x1b[2J')", "not one printable line"),
        (r"raise TutorError('two\nlines')", "not one printable line"),
        ("while True: pass", "longer than"),
        ("import time; time.sleep(50)", "longer than"),
        ("bytearray(400 << 20)", "MB"),
        ("raise TutorError('no')", ""),
        ("path.read_bytes()", ""),
    ],
)
def test_forbidden_behavior_of_a_reader_is_detected(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.reader.SECONDS", 2.0)
    monkeypatch.setattr("tests.fuzz.reader.WAITING", 4.0)
    path = tmp_path / "file"
    path.write_bytes(bomb(100))
    reader = Reader("any", "", list, lambda path: exec(code, {"path": path, "TutorError": TutorError}))
    found = failure(reader, path)
    assert said in found
    assert bool(said) == bool(found)
