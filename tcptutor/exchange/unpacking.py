"""Unpacking and decoding of other programs' files: xz and zip (gzip and bzip2 elsewhere); UTF-8 and UTF-16."""

from __future__ import annotations

import codecs
import lzma
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

from tcptutor.base import files
from tcptutor.base.errors import TutorError

_XZ, _ZIP = b"\xfd7zXZ\x00", b"PK\x03\x04"
_UNSUPPORTED = {b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"\x04\x22\x4d\x18": "LZ4"}
"""First bytes of packed formats that are named in an error, not unpacked."""
_XZ_MEMORY = 64 << 20
"""Bytes for unpacking xz; its default settings need 9 MiB, `-9` needs 65 MiB."""
_ENTRIES = 64
"""Members of a zip file that are read."""
_PROBE = 512


def content(path: Path, kind: files.FileKind) -> bytes | None:
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
