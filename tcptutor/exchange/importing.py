"""Import of other programs' results as runs, recognized by their content, also packed ones."""

from __future__ import annotations

import codecs
import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from tcptutor.analysis import rate_doubt
from tcptutor.base import files, places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.exchange import flent, iperf3
from tcptutor.run import Run, save
from tcptutor.run.check import TEXT, check

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
        raise TutorError(f"{path} is larger than {most >> 20} MiB unpacked: {kind.large}")
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
