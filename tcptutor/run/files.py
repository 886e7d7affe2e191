"""Run files: one run in one file (`.tcprun`), gzip-compressed JSON with a format version.

A file is self-contained: it can be read, plotted and marked again without the lab. Format 2 keeps samples as columns;
files of format 1, which kept them as rows, are read as well.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib
from pathlib import Path

import msgspec

from tcptutor.errors import TutorError, refused
from tcptutor.run import tables
from tcptutor.run.record import FORMAT_VERSION, Run

_encoder = msgspec.json.Encoder(enc_hook=tables.encode)
_decoder = msgspec.json.Decoder(Run, dec_hook=tables.decode)


class _Header(msgspec.Struct):
    format_version: int


def save(run: Run, path: Path, elsewhere: str = "give another place") -> None:
    """Write `run` to `path`, whole or not at all. Raises TutorError when it cannot be written.

    `elsewhere` says in the error how the user would give another place.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(gzip.compress(_encoder.encode(run), compresslevel=6, mtime=0))
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # there may not even be a folder
            beside.unlink(missing_ok=True)
        raise TutorError(f"cannot write {path}: {refused(error, elsewhere)}") from error


def load(path: Path) -> Run:
    """The run in `path`. Raises TutorError for a file that is missing, damaged or of a newer format."""
    try:
        data = gzip.decompress(path.read_bytes())
        version = msgspec.json.decode(data, type=_Header).format_version
        if version > FORMAT_VERSION:
            raise TutorError(
                f"{path} was written by a newer tcptutor (format {version}): update tcptutor to read it"
            )
        run = _decoder.decode(data)
    except FileNotFoundError:
        raise TutorError(f"no run file {path}: `tcptutor list` names the experiments you can run") from None
    except (PermissionError, IsADirectoryError) as error:
        raise TutorError(f"cannot read {path}: {error.strerror}: give a run file that you may read") from None
    except (OSError, EOFError, zlib.error, msgspec.MsgspecError, ValueError) as error:
        raise TutorError(
            f"{path} is not a run file, or damaged ({error}): run the experiment again"
        ) from error
    run.format_version = FORMAT_VERSION
    return run
