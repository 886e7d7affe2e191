"""`tcptutor setup`: the packages, the guest and a proof that they work. What is there already is left as it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol

from tcptutor.backends import ending, locks
from tcptutor.backends.guest import lab_file, leftovers
from tcptutor.backends.guest.image import WAITING
from tcptutor.base import places
from tcptutor.base.errors import LabUnavailable, SetupError, TutorError, UsageError, refused
from tcptutor.install import packages, parts, plan
from tcptutor.install.plan import Plan
from tcptutor.install.report import bars, megabytes
from tcptutor.install.verify import verify
from tcptutor.install.wanted import ANY_LAB, WantedLab
from tcptutor.run import lab_parts


class Teller(Protocol):
    """Who tells the user what setup does."""

    def say(self, line: str) -> None:
        """A line about what is done."""
        ...

    def fail(self, line: str) -> None:
        """A line about what went wrong."""
        ...

    def ask(self, question: str) -> str:
        """The answer, as it was typed. Raises EOFError when nobody is there any more."""
        ...


def run_setup(
    tell: Teller, assume_yes: bool = False, again: bool = False, wanted: WantedLab | None = None
) -> int:
    """Make this machine ready, and give the exit code. `assume_yes` does not ask; `again` builds what is whole as well.
    With `wanted` the guest is of that lab, and the code is 1 where it cannot be.

    A part that fails is told, and the others go on. Raises TutorError when nothing more can be done.
    """
    try:
        with ending.terminate_like_ctrl_c():
            return _Setup(tell, assume_yes, again, wanted or ANY_LAB).run()
    except KeyboardInterrupt:
        raise SetupError("stopped: what is finished stays, and `tcptutor setup` goes on from there") from None


@contextmanager
def _only_setup(waiting: Callable[[], None]) -> Iterator[None]:
    """Hold setup's lock in the cache folder, which is made. When another holds it, call `waiting` and wait.

    Raises SetupError when the folder cannot be written.
    """
    folder = places.cache()
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.hold(folder / "setup.lock", waiting))
        except OSError as error:
            raise SetupError(
                f"cannot write in {folder}: {refused(error, 'set XDG_CACHE_HOME to a folder of yours')}"
            ) from error
        yield


class _Setup:
    """One run of it. Owns the exit code: 1 once a part has failed."""

    def __init__(self, tell: Teller, assume_yes: bool, again: bool, wanted: WantedLab) -> None:
        self._tell, self._assume_yes, self._again, self._wanted = tell, assume_yes, again, wanted
        self._snapshots = parts.snapshots_here()
        self._code = 0

    def run(self) -> int:
        def waiting() -> None:
            self._say("another setup is at work: waiting for it to end")

        with _only_setup(waiting):
            if self._snapshots and (removed := leftovers.remove(self._snapshots.folder)):
                self._say(f"removed {removed} leftover{'s' * (removed > 1)} of a setup that was ended")
            self._take_packed()
            what = plan.make(self._snapshots, self._again, wanted=self._wanted)
            self._say(*plan.already_there(what, self._snapshots))
            if what.packages or what.parts:
                self._say(*plan.to_do(what))
                self._ask()
            if what.packages:
                self._install(what)
            if what.parts:
                self._build(what.parts)
            self._verify()
            if self._wanted != ANY_LAB:
                self._compare()
        return self._code

    def _take_packed(self) -> None:
        """The image of the packed lab, where there is one."""
        if (file := self._wanted.file) is None:
            return
        if self._snapshots is None:
            raise SetupError(
                "there is no guest for this machine's architecture: a packed lab is of no use here"
            )
        lab_file.install(file, self._snapshots.image, lambda: self._say(WAITING))
        self._say(f"took the guest image from {file}")

    def _compare(self) -> None:
        """Say which lab this is; where another one was wanted, in what it differs."""
        if self._snapshots is None:
            return
        here = self._snapshots.composition("virtual")
        self._say(f"this lab is {lab_parts.fingerprint(here)}")
        if there := self._wanted.composition:
            if lab_parts.fingerprint(here) == lab_parts.fingerprint(there):
                repeats = self._snapshots.manifest("virtual").repeats
                again = (
                    "its runs are equal to the byte" if repeats else "with this QEMU no other has equal runs"
                )
                self._say(f"it is the one that was asked for: {again}")
                return
            self._fail(
                SetupError(
                    f"it is not {lab_parts.fingerprint(there)}: equal runs will agree within chance, not to the byte"
                )
            )
            self._say("they differ in", *(f"  {part}" for part in lab_parts.differences(here, there)))

    def _say(self, *lines: str) -> None:
        for line in lines:
            self._tell.say(line)

    def _fail(self, error: TutorError) -> None:
        self._tell.fail(str(error))
        self._code = 1

    def _ask(self) -> None:
        """Return to go on. Raises UsageError when nobody can be asked, SetupError when the answer is no."""
        if self._assume_yes:
            return
        if not sys.stdin.isatty():
            raise UsageError(
                "setup asks before it begins, and there is no terminal here: run `tcptutor setup --yes`"
            )
        try:
            answer = self._tell.ask("Go on? [Y/n] ").strip().lower()
        except EOFError:
            answer = "no"
        if answer not in ("", "y", "yes"):
            raise SetupError("nothing was changed: run `tcptutor setup` when you want the lab")

    def _install(self, what: Plan) -> None:
        if not packages.installable():
            line = packages.install_command(what.names)
            self._say(f"the packages need an administrator; type as root: {line}")
            return
        count = plan.counted(what.packages, "package")
        self._say(f"installing {count} with apt-get ...")
        began = time.monotonic()
        try:
            packages.install(what.names, places.cache() / "setup.log")
        except SetupError as error:
            self._fail(error)
        else:
            self._say(f"installed {count} in {time.monotonic() - began:.0f} s")

    def _build(self, missing: list[str]) -> None:
        if lacking := packages.missing_for_guest(building=parts.IMAGE in missing):
            names = ", ".join(package.name for package in lacking)
            self._say(f"the guest needs {names}: run `tcptutor setup` again when they are installed")
            return
        assert self._snapshots is not None
        began = time.monotonic()
        try:
            with bars(self._tell.say) as bar:
                parts.build(self._snapshots, missing, bar, self._wanted.versions)
        except TutorError as error:
            self._fail(error)
            return
        for part in missing:
            size = megabytes(parts.size(self._snapshots, part))
            self._say(f"built {parts.TITLES[part]}: {size} in {parts.file(self._snapshots, part)}")
        self._say(f"built in {time.monotonic() - began:.0f} s")

    def _verify(self) -> None:
        self._say("trying the lab with a short run ...")
        began = time.monotonic()
        try:
            # When a part of the guest has failed, this machine's own kernel may still do.
            measured = verify("host" if self._code else "auto")
        except LabUnavailable:
            if not self._code:
                raise
        else:
            self._say(f"the lab works: {measured}, in {time.monotonic() - began:.1f} s")
