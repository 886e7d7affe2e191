"""A lab in a file: taken whole on another machine, or refused in one line with nothing changed."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tcptutor.backends.guest.architecture import AMD64
from tcptutor.backends.guest.image import Image
from tcptutor.base.errors import ImageDamaged, SetupError


def _image(folder: Path, kernel: bytes = b"kernel", system: bytes = b"system" * 1000) -> Image:
    image = Image(folder / "image", AMD64)
    image.folder.mkdir(parents=True)
    image.kernel.write_bytes(kernel)
    image.base.write_bytes(system)
    image.write_manifest("6.12", {"bash": "5.2"}, {"tar2sqfs": "1.2"})
    return image


def _take(file: Path, folder: Path) -> Image:
    image = Image(folder / "image", AMD64)
    image.install(file, lambda: None)
    return image


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    file = tmp_path / "x.lab"
    _image(tmp_path / "there").pack(file)
    return file


def test_what_was_packed_is_taken(packed: Path, tmp_path: Path) -> None:
    here = _take(packed, tmp_path / "here")
    here.check(thorough=True)
    assert here.composition() == Image(tmp_path / "there" / "image", AMD64).composition()
    assert here.composition()["package bash"] == "5.2"


def test_it_takes_the_place_of_another_one(packed: Path, tmp_path: Path) -> None:
    _image(tmp_path / "here", b"another kernel")
    assert _take(packed, tmp_path / "here").kernel.read_bytes() == b"kernel"
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"image", "image.lock"}


def _tar(*members: tuple[str, bytes, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as packed:
        for name, content, kind in members:
            member = tarfile.TarInfo(name)
            member.size, member.type = len(content), kind
            packed.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf()


HOSTILE = {
    "empty": b"",
    "text": b"hello\n" * 1000,
    "other names": _tar(("../image.json", b"{}", tarfile.REGTYPE)),
    "link": _tar(("image.json", b"", tarfile.SYMTYPE)),
    "device": _tar(("image.json", b"", tarfile.CHRTYPE)),
    "one file only": _tar(("image.json", b"{}", tarfile.REGTYPE)),
    "huge size": _header("image.json", size=8**11 - 1),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_lab_is_refused(content: bytes, tmp_path: Path) -> None:
    kept = _image(tmp_path / "here").composition()
    file = tmp_path / "x.lab"
    file.write_bytes(content)
    with pytest.raises(SetupError, match="is not a packed lab: make one with `tcptutor lab pack FILE`"):
        _take(file, tmp_path / "here")
    assert Image(tmp_path / "here" / "image", AMD64).composition() == kept
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"image", "image.lock"}


def test_what_was_changed_or_cut_on_the_way_is_refused(packed: Path, tmp_path: Path) -> None:
    whole = packed.read_bytes()
    for content in (whole[:-2000], whole.replace(b"kernel", b"kernal"), whole[:5000]):
        packed.write_bytes(content)
        with pytest.raises(SetupError, match=r"is damaged: pack it again|is not a packed lab"):
            _take(packed, tmp_path / "here")
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"image.lock"}


def test_a_lab_of_another_version_says_so(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcptutor.backends.guest.recipe.SUITE", "another")
    with pytest.raises(SetupError, match="is of another version: pack it again with this tcptutor"):
        _take(packed, tmp_path / "here")


def test_a_pipe_and_a_missing_file_are_told(tmp_path: Path) -> None:
    for file in (tmp_path / "none", Path("/dev/zero"), tmp_path):
        with pytest.raises(SetupError, match=f"^the lab in {file} cannot be installed: "):
            _take(file, tmp_path / "here")


def test_an_image_that_is_not_whole_is_not_packed(tmp_path: Path) -> None:
    image = _image(tmp_path / "there")
    image.base.write_bytes(b"changed")
    with pytest.raises(ImageDamaged):
        image.pack(tmp_path / "x.lab")
    assert not (tmp_path / "x.lab").exists()
