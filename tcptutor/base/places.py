"""Locations of the course content, of the user's folders, and of packages for pip; answers kept until the next boot."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import platformdirs

from tcptutor.base import decoding, files
from tcptutor.base.errors import TutorError

_PACKAGE = Path(__file__).parents[1]

MATPLOTLIB = "matplotlib>=3.8,<4"
"""Requirement of the extra `plot` in pyproject.toml."""
SERVE = ("aiohttp>=3.11,<4", "segno>=1.6,<2", "textual-serve>=1.1.3,<2")
"""Requirements of the extra `serve` in pyproject.toml: votes need the first two."""
STATE_ELSEWHERE = "set XDG_DATA_HOME to a folder that can be written"
"""Advice for error messages: how to move the journal and the run files."""

_UNUSED_DAYS = 60
_NOWHERE = Path("/proc/no-home")
"""Substitute for a missing home. No folder can be created in it, so writing fails with advice."""


def _content(name: str) -> Path:
    """Find `name` in an installed wheel (inside the package) or a checkout (next to it)."""
    for folder in (_PACKAGE / "_content" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise TutorError(
        f"the folder {name!r} is missing from this installation: run sh tcptutor/start in its repository"
    )


SHIPPED_ID = "tcp-throughput"
"""Id of the shipped course. Its other versions share its journal."""


class ChosenCourse(NamedTuple):
    """A course that was chosen in place of the shipped one."""

    given: str
    """What --course takes for it in any folder: an absolute path, or the address of a git repository."""
    folder: Path
    id: str

    @property
    def local(self) -> Path:
        """Path of the course for other programs of this user: as given, or the folder of a fetched repository."""
        return Path(self.given) if Path(self.given).exists() else self.folder


class _CourseInUse:
    course: ChosenCourse | None = None


def choose_course(course: ChosenCourse | None) -> None:
    """Use this course in this program, or the shipped one for None."""
    _CourseInUse.course = course


def chosen_course() -> ChosenCourse | None:
    """Return the chosen course; None for the shipped course."""
    return _CourseInUse.course


def course_id() -> str:
    """Return the id of the course in use."""
    return _CourseInUse.course.id if _CourseInUse.course else SHIPPED_ID


def lessons() -> Path:
    """Return the folder of the chosen course's lessons, by default the shipped lessons."""
    return _CourseInUse.course.folder if _CourseInUse.course else shipped_lessons()


def shipped_lessons() -> Path:
    """Return the folder of the shipped lessons."""
    return _content("lessons")


def assets() -> Path:
    """Return the folder of style sheets, recorded runs and published figures."""
    return _content("assets")


def cache() -> Path:
    """Return the user's cache: guest image and snapshots, which `tcptutor setup` can rebuild. It may not exist yet."""
    return _of_user(platformdirs.user_cache_path, "XDG_CACHE_HOME")


def state() -> Path:
    """Return the user's data folder of this course: the journal and the run files. It may not exist yet."""
    return data() if course_id() == SHIPPED_ID else data() / "courses" / course_id()


def data() -> Path:
    """Return the user's data folder of all courses. It may not exist yet."""
    return _of_user(platformdirs.user_data_path, "XDG_DATA_HOME")


def checkouts() -> Path:
    """Return the folder of courses fetched from git repositories. It may not exist yet."""
    return data() / "checkouts"


def second_record() -> Path:
    """Return the folder of the second record of answers, outside the data folder. It may not exist yet."""
    return _of_user(platformdirs.user_state_path, "XDG_STATE_HOME") / "answers"


CONFIG_NAME = "config.toml"


def config_file() -> Path:
    """Return the user's configuration file. It may not exist."""
    return _of_user(platformdirs.user_config_path, "XDG_CONFIG_HOME") / CONFIG_NAME


def site_config_file() -> Path:
    """Return the configuration file of all users of this machine. It may not exist."""
    return platformdirs.site_config_path("tcptutor") / CONFIG_NAME


def remove_unused(files: Iterable[Path]) -> None:
    """Remove the cached files that were not used for 60 days."""
    oldest = time.time() - _UNUSED_DAYS * 86400
    for file in files:
        with contextlib.suppress(OSError):
            if file.stat().st_mtime < oldest:
                file.unlink()


def _of_user(folder: Callable[[str], Path], variable: str) -> Path:
    """Return the user's folder, or a folder below `_NOWHERE` if the home is empty, relative or unknown."""
    if Path(os.environ.get(variable, "")).is_absolute() or Path(os.environ.get("HOME", "/")).is_absolute():
        with contextlib.suppress(RuntimeError):
            return folder("tcptutor")
    return _NOWHERE / "tcptutor"


def runs() -> Path:
    """Return the folder of the user's run files. It may not exist yet."""
    return state() / "runs"


def home() -> Path:
    """Return the folder behind `~` on the lab's hosts. It may not exist yet."""
    return state() / "home"


def has_matplotlib() -> bool:
    """Return whether this Python has matplotlib."""
    try:
        return importlib.util.find_spec("matplotlib") is not None
    except ValueError:  # another object is registered as the module
        return False


def matplotlib_command() -> str:
    """Return the shell command that installs matplotlib."""
    return pip_install(MATPLOTLIB)


def pip_install(*requirements: str) -> str:
    """Return the command that installs the requirements for the running Python, to type in this folder.

    Never an extra of ours by our own name: a stranger can register that name on PyPI.
    """
    python = Path(sys.executable)
    with contextlib.suppress(ValueError, OSError):  # a deleted folder has no name
        python = python.relative_to(Path.cwd())
    if importlib.util.find_spec("pip") is None:  # uv makes environments without it
        return shlex.join(["uv", "pip", "install", "--python", str(python), *requirements])
    return shlex.join([str(python), "-m", "pip", "install", *requirements])


_T = TypeVar("_T")
_KIND = files.small_kind("answer about this machine")


class _Answer(msgspec.Struct):
    boot: str
    """The kernel's id of the boot for which the answer is valid."""
    answer: msgspec.Raw


def _this_boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def recall_since_boot(name: str, kind: type[_T]) -> _T | None:
    """Return the answer stored as `name` since the last boot; None when it is missing or damaged."""
    try:
        with files.open_bounded(cache() / name, _KIND) as text:
            known = decoding.decode_json(text, _Answer)
            return decoding.decode_json(known.answer, kind) if known.boot == _this_boot() else None
    except TutorError:
        return None


def remember_until_boot(name: str, answer: object) -> None:
    """Store `answer` as `name`; a failure to write is ignored, so the check simply runs again."""
    with contextlib.suppress(OSError, TutorError):
        known = _Answer(_this_boot(), msgspec.Raw(msgspec.json.encode(answer)))
        cache().mkdir(parents=True, exist_ok=True)
        with files.atomic(cache() / name) as part:
            part.write_bytes(msgspec.json.encode(known))
