"""Import and export of runs: other programs' results, recognized by their content, and stored runs, found by name."""

from __future__ import annotations

import codecs
import hashlib
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

from tcptutor.analysis import rate_doubt
from tcptutor.base import files, places, sizes
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.exchange import flent, iperf3
from tcptutor.run import Run, load, save
from tcptutor.run.check import TEXT, check
from tcptutor.runs.parts import recover

__all__ = ["import_runs", "open_run", "save_run", "saved_runs", "short_id"]

_MOST_SHOWN = 3
_LATEST = re.compile(r"last(?:-(\d{1,6}))?")
SWEEP_BEGINS = b'{"type":"tcpsweep"'
"""First bytes of a file of `tcptutor sweep`."""

_FOREIGN = files.FileKind(
    name="result of iperf3 or flent",
    most=1 << 28,
    plain=1 << 24,
    times=20,
    missing="give an iperf3 -J output or a flent data file",
    unreadable="give another file",
    damaged="fetch it again",
    large="import a shorter test",
)

_MOST_MEMORY = 250 << 20
"""Bytes that a file may take as Python objects: 40 streams of iperf3 for an hour."""
_OBJECT_BYTES, _VALUE_BYTES = 300, 30
"""Bytes of an object or array with its struct, and of a number or text."""
_XZ, _ZIP = b"\xfd7zXZ\x00", b"PK\x03\x04"
_UNSUPPORTED = {b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"\x04\x22\x4d\x18": "LZ4"}
"""First bytes of packed formats that are named in an error, not unpacked."""
_XZ_MEMORY = 64 << 20
"""Bytes for unpacking xz; its default settings need 9 MiB, `-9` needs 65 MiB."""
_ENTRIES = 64
"""Members of a zip file that are read."""
_PROBE = 512


def _ignore(_: str) -> None:
    pass


def open_run(name: str, report: Callable[[str], None] = _ignore) -> tuple[Run, Path]:
    """Load the run called `name`, and return it with its file.

    Args:
        name: A file, an id, or `last`.
        report: Called with a message about each damaged run of a killed program.

    Raises:
        UsageError: No run or several runs have the name.
        TutorError: The file is damaged.
    """
    path = find_run(name, report)
    first_bytes = files.head(path)
    if first_bytes.startswith(SWEEP_BEGINS):
        raise UsageError(f"{path} is the file of a sweep, not of a run: `tcptutor plot {path}` draws it")
    if path.name.endswith(".flent.gz") or first_bytes.lstrip().startswith(b"{"):
        raise UsageError(f"{path} is not a run file: `tcptutor import {path}` makes one of it")
    return load(path), path


def saved_runs(report: Callable[[str], None] = _ignore) -> list[Path]:
    """Return the files of the user's runs, newest first, including runs recovered from killed programs.

    Args:
        report: Called with a message about each damaged run.
    """
    recover(places.runs(), report)
    return sorted(places.runs().glob("*.tcprun"), reverse=True)


def short_id(file: Path) -> str:
    """Return the last part of a run's id, without the time at its beginning."""
    return file.stem.split("-")[-1] if file.stem.count("-") > 1 else file.stem


def find_run(name: str, report: Callable[[str], None] = _ignore) -> Path:
    """Return the file called `name`, or the only run with an id or short id that begins with it.

    `last` is the newest run, `last-1` the run before it and so on. Raises UsageError.
    """
    if not name:
        raise UsageError("an empty name means no run: give a file, an id of `tcptutor runs`, or last")
    path = Path(name)
    # os.path, because Path raises for a name that is too long.
    if os.path.isdir(path):  # noqa: PTH112
        raise UsageError(f"{name} is a folder: give a run file in it")
    if os.path.exists(path):  # noqa: PTH110
        return path
    # An id is a plain name: a name with a folder can only be a file.
    saved = saved_runs(report) if path.name == name else []
    if latest := _LATEST.fullmatch(name):
        return _nth_latest(saved, int(latest[1] or 0))
    found = [file for file in saved if file.stem == name] or [
        file for file in saved if file.stem.startswith(name) or short_id(file).startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(map(short_id, found[:_MOST_SHOWN])) + (" ..." if len(found) > _MOST_SHOWN else "")
        raise UsageError(f"{len(found)} runs begin with {name!r}: {some}: give more of the id")
    raise UsageError(
        f"no run file {name!r}, and no run id begins with it: `tcptutor runs` lists the runs in {places.runs()}"
    )


def _nth_latest(saved: list[Path], steps: int) -> Path:
    if steps < len(saved):
        return saved[steps]
    missing = (
        f"no run {steps} before the last, only {len(saved)} are saved" if saved else "no run is saved yet"
    )
    raise UsageError(f"{missing}: `tcptutor run random-loss` makes one")


def import_runs(file: Path, path: Mapping[str, str] | None = None) -> list[Run]:
    """Return the runs in an iperf3 `-J` output, a flent data file or a perfSONAR throughput result.

    A truncated packed file gives the part that can be read. The same file gives the same run.

    Args:
        file: Plain, or packed with gzip, bzip2, xz or zip.
        path: Rate, delay, loss and queue of the measured path, by parameter name: the file cannot contain them.

    Raises:
        UsageError: The file does not exist, or `path` is wrong.
        TutorError: The file has none of these formats, or is damaged.
    """
    if not file.is_file():
        raise UsageError(f"no file {file}: {_FOREIGN.missing}")
    with files.open_bounded(file, _FOREIGN, cut=True, content=unpacked(file, _FOREIGN)) as data:
        _check_memory(data, file)
        digest = hashlib.sha256(data).hexdigest()[:6]
        text = decode_text(data)
        data.clear()
        runs = (flent.read if flent.is_flent(text) else iperf3.read)(text, file.name, path or {})
        for number, run in enumerate(runs):
            # Two tests may have begun in the same second.
            suffix = hashlib.sha256(f"{digest}{number}".encode()).hexdigest()[:6] if number else digest
            run.id = f"{run.id}-{suffix}"
            if doubt := rate_doubt(run):
                run.note += f"; {doubt}"
            run.note = run.note[:TEXT]
            check(run)
    return runs


def _check_memory(data: bytearray, file: Path) -> None:
    """Raise TutorError before parsing a file that would take too much memory as Python objects."""
    text = len(data) if data.isascii() else 4 * len(data)
    objects = data.count(b"{") + data.count(b"[")
    if text + _OBJECT_BYTES * objects + _VALUE_BYTES * data.count(b",") > _MOST_MEMORY:
        raise TutorError(f"{file} contains more than can be read at once: {_FOREIGN.large}")


def save_run(run: Run, target: Path | None = None) -> Path:
    """Write the run to `target`, by default among the user's runs, and return its path. Raises TutorError."""
    path = target or places.runs() / f"{run.id}.tcprun"
    save(run, path, "give another place with -o", private=target is None)
    return path


def unpacked(path: Path, kind: files.FileKind) -> bytes | None:
    """Return the content of an xz or zip file, within the bounds of `kind`; None for any other file.

    Raises:
        TutorError: The file is damaged, too large, a zip of several files, or packed in an unsupported way.
    """
    first_bytes = files.head(path)
    for magic, name in _UNSUPPORTED.items():
        if first_bytes.startswith(magic):
            raise TutorError(f"{path} is packed with {name}: unpack it first")
    if not first_bytes.startswith((_XZ, _ZIP)):
        return None
    try:
        packed = files.read_plain(path, kind.most)
        most = kind.bound(len(packed))
        data = _from_xz(packed, most) if first_bytes.startswith(_XZ) else _from_zip(packed, most, path)
    except (lzma.LZMAError, zlib.error, zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise TutorError(f"{path} cannot be unpacked ({error}): {kind.damaged}") from error
    except OSError as error:
        raise TutorError(f"cannot read {path}: {error.strerror}: {kind.unreadable}") from error
    if len(data) > most:
        raise TutorError(f"{path} is larger than {sizes.decimal(most)} unpacked: {kind.large}")
    return data


def decode_text(data: bytes | bytearray) -> str:
    """Decode text by its byte order mark, or by the position of zero bytes; PowerShell writes UTF-16."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    even, odd = data[:_PROBE:2], data[1:_PROBE:2]
    for zeros, letters, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if len(zeros) > 1 and not any(zeros) and all(letters):
            return data.decode(encoding, errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def _from_xz(packed: bytes, most: int) -> bytes:
    data = bytearray()
    while packed and len(data) <= most:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        data += unpacker.decompress(packed, max_length=most + 1 - len(data))
        while not (unpacker.eof or unpacker.needs_input) and len(data) <= most:
            data += unpacker.decompress(b"", max_length=most + 1 - len(data))
        if not unpacker.eof:
            break  # truncated, or too large: use the part so far
        packed = unpacker.unused_data.lstrip(b"\0")
    return bytes(data)


def _from_zip(packed: bytes, most: int, path: Path) -> bytes:
    with zipfile.ZipFile(BytesIO(packed)) as archive:
        members = [each for each in archive.infolist()[:_ENTRIES] if not each.is_dir()]
        files_inside = [each for each in members if not each.filename.startswith("__MACOSX/")]
        if len(files_inside) != 1:
            raise TutorError(f"{path} is a zip of {len(files_inside)} files: unpack it and give one of them")
        (member,) = files_inside
        if member.flag_bits & 1:
            raise TutorError(f"{path} is encrypted: unpack it first")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise TutorError(f"{path} is a zip with an unusual compression: unpack it first")
        with archive.open(member) as inside:
            return inside.read(most + 1)
