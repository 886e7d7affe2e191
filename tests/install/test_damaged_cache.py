"""The guest's cache, damaged in many ways: found by the doctor, mended by setup, and never waited for."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.backends.guest import cached_files
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.cached_files import FileDigest
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import places
from tcptutor.base.errors import ImageDamaged
from tcptutor.install import check_guest, guest_parts
from tests import leftovers, patience
from tests.install.conftest import Cache

pytestmark = pytest.mark.guest

Damage = Callable[[Path, bytes], object]


def _flip(at: float) -> Damage:
    """One bit, so far into the file."""

    def damage(path: Path, data: bytes) -> None:
        where = min(int(len(data) * at), len(data) - 1)
        path.write_bytes(data[:where] + bytes([data[where] ^ 1]) + data[where + 1 :])

    return damage


def _folder(path: Path, _data: bytes) -> None:
    path.mkdir()
    (path / "file").touch()


DAMAGES: dict[str, Damage] = {
    "zero-filled": lambda path, data: path.write_bytes(bytes(len(data))),
    "empty": lambda path, _: path.touch(),
    "cut by a byte": lambda path, data: path.write_bytes(data[:-1]),
    "cut in two": lambda path, data: path.write_bytes(data[: len(data) // 2]),
    "longer": lambda path, data: path.write_bytes(data + b"\0"),
    "a page of zeros": lambda path, data: path.write_bytes(
        data[: len(data) // 3] + bytes(4096) + data[len(data) // 3 + 4096 :]
    ),
    "first bit": _flip(0),
    "a bit in the middle": _flip(0.5031),
    "a bit near the end": _flip(0.97),
    "last bit": _flip(1),
    "missing": lambda _path, _data: None,
    "a folder": _folder,
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a link to nothing": lambda path, _: path.symlink_to("/nowhere"),
    "a link to a device": lambda path, _: path.symlink_to("/dev/zero"),
}
LARGE = ["image/vmlinuz", "image/base.cpio", "virtual.snapshot", "real.snapshot"]
SMALL = ["image/image.json", "virtual.json", "real.json"]
TEXTS = {
    "a list": b"[]",
    "null": b"null",
    "a number": b"7",
    "a text": b'"recipe"',
    "no text": b'{"recipe": "\xff\xfe"}',
    "nothing": b"",
    "half": b'{"recipe": "',
    "deep": b"[" * 100_000,
    "other types": b'{"recipe": 1, "kernel": [], "files": 3, "built": null, "key": {}, "kvm": 2}',
    "a number without end": b'{"built": ' + b"9" * 10_000 + b"}",
    "a large one": b" " * 100_000_000,
    "zeros": bytes(400),
}


def _damage(cache: Cache, name: str, damage: Damage) -> None:
    path = cache.guest / name
    data = path.read_bytes() if name in LARGE or path.is_file() else b""
    path.unlink()  # the real one, whose name alone is ours, stays as it is
    damage(path, data)


def _part(name: str) -> str:
    return "image" if name.startswith("image/") else name.partition(".")[0]


def _told(cache: Cache, name: str) -> None:
    """The doctor says it, with what to do, and setup would build that part again; soon."""
    began = time.monotonic()
    finding = check_guest._part(Snapshots(), _part(name))
    assert finding.status == "warn"
    assert "\n" not in finding.text
    assert "tcptutor setup" in finding.remedy
    assert not guest_parts._valid(Snapshots(), _part(name), thorough=True)
    assert time.monotonic() - began < patience.seconds(8)


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_is_reported(snapshots: Snapshots, cache: Cache, name: str, how: str) -> None:
    cache.fill(snapshots)
    _damage(cache, name, DAMAGES[how])
    _told(cache, name)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    "how", [how for how in DAMAGES if "bit" not in how and how not in ("longer", "a page of zeros")]
)
def test_a_damaged_manifest_is_reported(snapshots: Snapshots, cache: Cache, name: str, how: str) -> None:
    cache.fill(snapshots)
    _damage(cache, name, DAMAGES[how])
    _told(cache, name)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("what", TEXTS)
def test_a_malformed_manifest_is_reported(snapshots: Snapshots, cache: Cache, name: str, what: str) -> None:
    cache.fill(snapshots)
    (cache.guest / name).write_bytes(TEXTS[what])
    _told(cache, name)


@pytest.mark.parametrize(
    "how", ["zero-filled", "cut in two", "first bit", "last bit", "a FIFO", "a folder", "missing"]
)
async def test_a_damaged_snapshot_is_not_used(
    mark: str, snapshots: Snapshots, cache: Cache, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is known before a QEMU starts, and made again from the image."""
    cache.fill(snapshots)
    _damage(cache, "virtual.snapshot", DAMAGES[how])
    built = []

    async def build(self: Snapshots, clock: str, _progress: object) -> None:
        built.append(clock)
        raise ImageDamaged("built again")

    monkeypatch.setattr(Snapshots, "build", build)
    backend = GuestBackend("virtual", Snapshots())
    began = time.monotonic()
    with pytest.raises(ImageDamaged, match="built again"):
        await backend.open()
    assert built == ["virtual"]
    assert time.monotonic() - began < patience.seconds(3)
    await backend.close()


@pytest.mark.parametrize(
    "how", ["zero-filled", "cut in two", "first bit", "a bit in the middle", "last bit", "empty"]
)
@pytest.mark.parametrize("clock", ["virtual"])
async def test_hidden_damage_is_reported_on_use(
    mark: str, snapshots: Snapshots, cache: Cache, how: str, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.fill(snapshots)
    _damage(cache, f"{clock}.snapshot", DAMAGES[how])
    monkeypatch.setattr(FileDigest, "matches", lambda *_, **__: True)
    backend = GuestBackend(clock, Snapshots())
    began = time.monotonic()
    with pytest.raises(
        ImageDamaged, match=r"^the guest's snapshot cannot be used: run `tcptutor setup[^\n]*$"
    ):
        await backend.open()
    assert time.monotonic() - began < patience.seconds(10)
    await backend.close()
    assert leftovers.wait_until_none(mark) == []


def test_whatever_is_in_the_way_makes_room(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    _folder(tmp_path / "folder", b"")
    (tmp_path / "link").symlink_to(kept)
    os.mkfifo(tmp_path / "fifo")
    for name in ("folder", "link", "fifo", "nothing"):
        cached_files.clear(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()


@pytest.mark.parametrize("what", [*TEXTS, "a FIFO"])
def test_a_damaged_answer_about_the_machine_is_none(cache: Cache, what: str) -> None:
    places.remember_until_boot("answer.json", True)
    assert places.recall_since_boot("answer.json", bool) is True
    file = cache.home / "tcptutor" / "answer.json"
    if what == "a FIFO":
        file.unlink()
        os.mkfifo(file)
    else:
        file.write_bytes(TEXTS[what])
    assert places.recall_since_boot("answer.json", bool) is None
    shutil.rmtree(cache.home)
