"""What goes through zstd into a file and out of it again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.backends.guest import saved_state
from tcptutor.base.errors import LabError

pytestmark = pytest.mark.host

CONTENT = os.urandom(1 << 15)  # fits into a pipe


async def _pack(file: Path) -> None:
    async with saved_state.compress(file) as pipe:
        assert os.write(pipe, CONTENT) == len(CONTENT)


async def _unpack(file: Path) -> bytes:
    async with saved_state.decompress(file) as pipe:
        return b"".join(iter(lambda: os.read(pipe, 1 << 16), b""))


async def test_what_is_packed_comes_out_again(tmp_path: Path) -> None:
    file = tmp_path / "a name with 'signs'"
    await _pack(file)
    assert await _unpack(file) == CONTENT


async def test_a_full_disk_is_told(mark: str) -> None:
    with pytest.raises(LabError, match=r"^No space left on device$"):
        await _pack(Path("/dev/full"))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-4] + bytes(4), "doesn't match checksum"),
        (lambda data: data[:-1000], "premature end"),
        (lambda data: b"", "unexpected end of file"),
    ],
)
async def test_damage_is_told_though_the_content_came_out(
    tmp_path: Path, mark: str, damage: Callable[[bytes], bytes], words: str
) -> None:
    file = tmp_path / "packed"
    await _pack(file)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(LabError, match=words):
        await _unpack(file)


async def test_who_leaves_with_an_error_is_not_kept(tmp_path: Path, mark: str) -> None:
    """Not by a zstd that has more to say than anybody reads, and the error stays his own."""
    file = tmp_path / "packed"
    file.write_bytes(b"".join([await _packed_bytes(tmp_path)] * 40))
    with pytest.raises(ValueError, match="mine"):
        async with saved_state.decompress(file):
            raise ValueError("mine")


async def _packed_bytes(folder: Path) -> bytes:
    await _pack(folder / "one")
    return (folder / "one").read_bytes()
