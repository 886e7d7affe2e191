"""Courses in git repositories, fetched once by the user's own git and cached until an update is requested.

A repository is read as an archive of a single commit: its files are never executed, and links are not followed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcptutor.base import decoding, files, places
from tcptutor.base.errors import TutorError, UsageError, quoted
from tcptutor.base.printable import escaped
from tcptutor.course import unpacking
from tcptutor.course.archives import read_archive

FORMAT_VERSION = 1
_PROTOCOLS = "https:http:ssh:git:file"
_PATIENCE_S = 300
_KIND = files.small_kind("note of a course's repository", "delete it, and give the repository again")
_SSH = re.compile(r"[\w.-]+@[\w.-]+:(?!//).+")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{4,64}")
_MOST_ARCHIVE = 256 << 20


class RepositoryAddress(NamedTuple):
    """Where a repository is, and which revision of it is wanted."""

    url: str
    """URL, or absolute path of a repository on this machine."""
    revision: str = ""
    """Branch, tag or commit; empty for the newest commit of the default branch."""

    def __str__(self) -> str:
        shown = re.sub(r"//[^/@]*@", "//", self.url)  # without a password
        return f"{shown}@{self.revision}" if self.revision else shown


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """A course that was fetched from a repository."""

    commit: str
    name: str
    """Name of the course's folder."""
    fetched_at: str
    """ISO 8601."""
    format_version: int = FORMAT_VERSION

    @property
    def short(self) -> str:
        """The commit, as git shortens it."""
        return self.commit[:10]


def parse_address(given: str) -> RepositoryAddress | None:
    """Return the repository that is meant by a URL, SSH address or path, with @REVISION or without.

    None for any other text. Raises UsageError for a revision that git could take for an option.
    """
    given = given.removeprefix("git+")
    start = given.rfind("/") if "://" in given else given.find(":") if _SSH.fullmatch(given) else 0
    address, _, revision = given.partition(".git@") if ".git@" in given else ("", "", "")
    if address:
        address += ".git"
    elif "@" in given[start:]:
        at = given.index("@", start)
        address, revision = given[:at], given[at + 1 :]
    else:
        address = given
    is_remote = re.match(r"(?:https?|ssh|git|file)://.", address) or _SSH.fullmatch(address)
    if not is_remote:
        folder = Path(address).expanduser()
        if not ((folder / ".git").exists() or (folder / "HEAD").is_file()):
            return None
        address = str(folder.absolute())
    if ("@" in given[len(address) :] or revision) and not _REVISION.fullmatch(revision):
        raise UsageError(f"{quoted(revision)} is no revision: write a branch, tag or commit after the @")
    return RepositoryAddress(address, revision)


def find_checkout(address: RepositoryAddress) -> Checkout | None:
    """Return the cached checkout of a repository; None before the first fetch."""
    folder = _folder(address)
    if not (folder / _NOTE).is_file():
        return None
    with files.open_bounded(folder / _NOTE, _KIND) as text:
        found = decoding.decode_json(text, Checkout)
    return found if (_lessons(address, found) / "course.toml").is_file() else None


def checkout_folder(address: RepositoryAddress) -> Path:
    """Return the folder of a repository's course, which is fetched if it was not yet.

    Raises:
        TutorError: It cannot be fetched, or holds no course.
    """
    return _lessons(address, find_checkout(address) or fetch(address))


def fetch(address: RepositoryAddress) -> Checkout:
    """Fetch the current state of the revision, and use it from now on.

    Raises:
        TutorError: It cannot be fetched, or holds no course; a course that was fetched before stays in use.
    """
    folder, before = _folder(address), find_checkout(address)
    with tempfile.TemporaryDirectory(prefix="tcptutor-git-") as temporary:
        commit, archive = _fetched(Path(temporary), address)
    found = read_archive(Path(str(address)), archive)
    name = found.name or unpacking.folder_name(address.url.removesuffix("/").removesuffix(".git"))
    made = Checkout(
        commit=commit, name=name, fetched_at=datetime.now(UTC).astimezone().isoformat("T", "seconds")
    )
    unpacking.unpack(found.lessons, _lessons(address, made))
    with files.atomic(folder / _NOTE, private=True) as note:
        note.write_bytes(msgspec.json.encode(made))
    current = {each.commit for each in (before, made) if each}  # an open app may still read the one before
    for each in folder.iterdir():
        if each.is_dir() and each.name not in current:
            shutil.rmtree(each, ignore_errors=True)
    return made


_NOTE = "checkout.json"


def _folder(address: RepositoryAddress) -> Path:
    digest = hashlib.sha256("\n".join(address).encode()).hexdigest()[:24]
    return places.checkouts() / f"{unpacking.folder_name(address.url.removesuffix('.git'))}-{digest}"


def _lessons(address: RepositoryAddress, checkout: Checkout) -> Path:
    return _folder(address) / checkout.commit / checkout.name


def _fetched(repository: Path, address: RepositoryAddress) -> tuple[str, bytes]:
    """Return the commit of the revision and its files as a tar archive."""
    _git(repository, address, "init", "--quiet", "--bare")
    wanted = address.revision or "HEAD"
    try:
        _git(repository, address, "fetch", "--quiet", "--no-tags", "--depth=1", "--", address.url, wanted)
        found = "FETCH_HEAD"
    except TutorError:
        if not _COMMIT.fullmatch(wanted):
            raise
        # Many servers do not give single commits, and none gives a shortened one.
        every = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        _git(repository, address, "fetch", "--quiet", "--", address.url, *every)
        found = wanted
    commit = _git(repository, address, "rev-parse", "--verify", "--quiet", f"{found}^{{commit}}")
    archive = _git(repository, address, "archive", "--format=tar", commit.decode().strip())
    if len(archive) > _MOST_ARCHIVE:
        raise TutorError(
            f"{address} holds more than {_MOST_ARCHIVE >> 20} MiB: give a folder of your own checkout"
        )
    return commit.decode().strip(), archive


def _git(repository: Path, address: RepositoryAddress, *words: str) -> bytes:
    try:
        done = subprocess.run(
            [
                "git",
                "-C",
                str(repository),
                "-c",
                "http.lowSpeedLimit=1000",
                "-c",
                "http.lowSpeedTime=30",
                *words,
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            env=_environment(),
            check=False,
        )
    except FileNotFoundError:
        raise TutorError(
            "git is missing: install it (`sudo apt install git`), or give the course as a folder or a .zip"
        ) from None
    except subprocess.TimeoutExpired:
        raise TutorError(f"{address} took more than {_PATIENCE_S // 60} minutes: try again later") from None
    except OSError as error:
        raise TutorError(
            f"git cannot be run ({error.strerror}): give the course as a folder or a .zip"
        ) from error
    if done.returncode:
        raise TutorError(
            f"cannot fetch {address} ({_reason(done.stderr)}): check its address and your network"
        )
    return done.stdout


def _environment() -> dict[str, str]:
    """Return an environment in which git asks no question, and reads no other repository."""
    kept = {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
    return {
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
        "LC_ALL": "C",
    }


_OF_A_REPOSITORY = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"}
)


def _reason(stderr: bytes) -> str:
    """Return git's error message, on a single line."""
    found = [line.strip() for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    fatal = [line for line in found if line.startswith(("fatal:", "error:", "ssh:"))]
    line = next(iter(fatal or found), "git gives no reason")
    return escaped(re.sub(r"//[^/@\s]*@", "//", re.sub(r"^(?:fatal|error): ", "", line)))[:200]
