"""The student's `~`: what is in it comes back, and what a guest sends goes nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.backends.session import Home
from tcptutor.wire.home_files import MAX_BYTES, MAX_FILES, PIECE, pieces, write_piece
from tcptutor.wire.protocol import HomeFile, HomeFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def carried(source: Path, to: Path) -> Home:
    """All of the guest's `source` as it arrives in the folder `to`."""
    home = Home(to)
    for piece in pieces(source):
        home.receive(piece)
    return home


def test_files_come_out_as_they_were(tmp_path: Path, folder: Path) -> None:
    inside = tmp_path / "guest"
    (inside / "caps").mkdir(parents=True)
    large = bytes(range(256)) * 1000
    assert len(large) > 3 * PIECE
    (inside / "caps" / "x.pcap").write_bytes(large)
    (inside / "empty").touch()
    (inside / "run.sh").write_text("echo")
    (inside / "run.sh").chmod(0o755)
    (inside / "link").symlink_to("/etc/passwd")
    carried(inside, folder)
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == [
        "caps",
        "caps/x.pcap",
        "empty",
        "run.sh",
    ]
    assert (folder / "caps" / "x.pcap").read_bytes() == large
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (folder / "empty").stat().st_mode & 0o777 == 0o644


def test_what_is_brought_and_removed_there_is_removed(tmp_path: Path, folder: Path) -> None:
    for name in ("kept", "gone"):
        (folder / name).write_text(name)
    home, inside = Home(folder), tmp_path / "guest"
    for piece in home.export():
        write_piece(inside, piece)
    (inside / "gone").unlink()
    (folder / "new here").touch()  # meanwhile, by another program
    for piece in pieces(inside):
        home.receive(piece)
    assert sorted(path.name for path in folder.iterdir()) == ["kept", "new here"]


def test_a_lab_that_dies_in_the_middle_takes_nothing_away(folder: Path) -> None:
    (folder / "kept").write_text("as it was")
    home = Home(folder)
    list(home.export())
    home.receive(HomeFile("kept", b"half"))
    home.abandon()
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("kept", "as it was")]


@pytest.mark.parametrize(
    "name",
    [
        "../out", "/etc/passwd", "a/../../out", "", ".", "..", "a//b", "a/", "new\nline", "\x1b[2J", "x" * 101,
        "a/b/c/d/e/f", "~/\x00",
    ],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_none(tmp_path: Path, folder: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    home = Home(folder)
    home.receive(HomeFile(name, b"x"))
    home.receive(HomeFile(name, b"x", append=True))
    home.receive(HomeFiles((name,), (name,)))
    assert sorted(tmp_path.rglob("*")) == before
    assert home.omitted == ()


def test_no_link_is_followed(tmp_path: Path, folder: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    (folder / "folder").symlink_to(outside)
    (folder / "file").symlink_to(outside / "file")
    home = Home(folder)
    for name in ("folder/new", "folder/file", "file"):
        home.receive(HomeFile(name, b"theirs"))
    home.receive(HomeFiles(("folder/new", "folder/file", "file")))
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("file", "mine")]
    assert (folder / "file").read_text() == "theirs"
    assert not (folder / "file").is_symlink()


def test_there_is_an_end_to_what_comes_out(tmp_path: Path, folder: Path) -> None:
    home = Home(folder)
    piece = b"x" * (1 << 20)
    for number in range(2 * MAX_BYTES >> 20):
        home.receive(HomeFile("endless", piece, append=number > 0))
    for number in range(2 * MAX_FILES):
        home.receive(HomeFile(f"file{number}", b""))
    home.receive(HomeFiles(()))
    assert sum(path.stat().st_size for path in folder.iterdir()) <= MAX_BYTES
    assert len(list(folder.iterdir())) <= MAX_FILES
    inside = tmp_path / "guest"
    inside.mkdir()
    (inside / "small").write_text("small")
    with (inside / "large").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert carried(inside, folder).omitted == ("large",)
    assert (folder / "small").read_text() == "small"
