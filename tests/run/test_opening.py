"""Files that somebody else may have written, and files written whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import os
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from tcptutor import exchange
from tcptutor.base import files
from tcptutor.base.errors import TutorError
from tcptutor.exchange import import_runs
from tcptutor.run import files as run_files
from tcptutor.run import load
from tcptutor.sweep import results_file

KIND = files.FileKind(
    name="test file",
    most=1 << 20,
    missing="make one",
    unreadable="give another",
    damaged="fetch it again",
    large="give a smaller one",
)


def content(path: Path, *, cut: bool = False) -> bytes:
    with files.open_bounded(path, KIND, cut=cut) as data:
        return bytes(data)


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])],
)
def test_a_file_is_unpacked_by_what_is_in_it(tmp_path: Path, pack: object) -> None:
    data = bytes(range(256)) * 1000
    (tmp_path / "x").write_bytes(pack(data))  # type: ignore[operator]
    assert content(tmp_path / "x") == data


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_what_unpacks_to_more_than_its_bound_is_refused_before_it_is_held(
    tmp_path: Path, pack: object
) -> None:
    (tmp_path / "x").write_bytes(pack(bytes(1 << 24)))  # type: ignore[operator]
    tracemalloc.start()
    with pytest.raises(TutorError, match=r"x is larger than 1 MiB unpacked: give a smaller one$"):
        content(tmp_path / "x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 << 20


def test_every_reader_has_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "x"
    bomb.write_bytes(gzip.compress(b" " * (1 << 21)))
    for module, name, read in (
        (run_files, "_RUN", load),
        (exchange, "_FOREIGN", import_runs),
        (results_file, "_SWEEP", results_file.load),
    ):
        kind = getattr(module, name)
        assert kind.most <= 1 << 30
        monkeypatch.setattr(module, name, msgspec.structs.replace(kind, most=1 << 20))
        with pytest.raises(TutorError, match="larger than 1 MiB unpacked"):
            read(bomb)  # type: ignore[operator]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_a_packed_file_that_was_cut_is_damaged_or_read_as_far_as_it_goes(
    tmp_path: Path, pack: object
) -> None:
    data = os.urandom(KIND.most)  # more than one block of bzip2
    whole = pack(data)  # type: ignore[operator]
    (tmp_path / "x").write_bytes(whole[: len(whole) * 9 // 10])
    with pytest.raises(TutorError, match=r"x is not a test file, or damaged \(.*\): fetch it again$"):
        content(tmp_path / "x")
    part = content(tmp_path / "x", cut=True)
    assert len(part) > 1 << 17
    assert data.startswith(part)


def test_what_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, says in (
        (tmp_path / "none", f"no test file {tmp_path}/none: make one"),
        (tmp_path, f"cannot read {tmp_path}: Is a directory: give another"),
        (tmp_path / "pipe", f"cannot read {tmp_path}/pipe: not a regular file: give another"),
        (Path("/dev/zero"), "cannot read /dev/zero: not a regular file: give another"),
    ):
        with pytest.raises(TutorError) as caught:
            content(path)
        assert str(caught.value) == says
        assert files.head(path) == b""


def test_a_file_becomes_what_it_was_to_be_or_stays(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "x"
    with files.atomic(target) as beside:
        beside.write_text("one")
    with pytest.raises(KeyboardInterrupt), files.atomic(target) as beside:
        beside.write_text("half")
        raise KeyboardInterrupt
    with pytest.raises(TutorError, match="Is a directory: give the name"), files.atomic(target.parent):
        raise AssertionError("there is nothing to write to")
    assert target.read_text() == "one"
    assert [path.name for path in target.parent.iterdir()] == ["x"]


def test_a_link_goes_on_pointing_and_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with files.atomic(tmp_path / "link") as beside:
        beside.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with files.atomic(tmp_path / "circle") as beside:
        beside.write_text("a file now")
    assert (tmp_path / "circle").read_text() == "a file now"
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/full")):
        before = place.stat()
        with pytest.raises(TutorError, match="not a regular file: give another place"), files.atomic(place):
            raise AssertionError("there is nothing to write to")
        assert place.stat().st_mode == before.st_mode


def test_lines_end_with_the_first_that_is_torn_or_too_long(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\ntwo\nthree, which is long\nfour\nfi")
    with (tmp_path / "x").open("rb") as file:
        assert list(files.lines(file, 10)) == [b"one\n", b"two\n"]
    with (tmp_path / "x").open("rb") as file:
        assert len(list(files.lines(file, 100))) == 4
