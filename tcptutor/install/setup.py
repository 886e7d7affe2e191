"""`tcptutor setup`: the packages, the guest and a proof that they work. What is there already is left as it is."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from collections.abc import Iterator

from rich.console import Console

from tcptutor import places
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.errors import LabUnavailable, SetupError, TutorError, UsageError
from tcptutor.install import apt, build, leftovers, needs, system
from tcptutor.install.lock import only_one
from tcptutor.install.needs import Need
from tcptutor.install.progress import Bars
from tcptutor.install.say import console, megabytes
from tcptutor.install.verify import verify

_STOPPED = 130
"""What shells give a command that Ctrl-C ended."""


def run_setup(assume_yes: bool = False, again: bool = False) -> int:
    """Make this machine ready, and give the exit code. `assume_yes` does not ask; `again` builds what is whole as well.

    Says what it does on standard output; each thing that fails is one line on standard error.
    """
    setup = _Setup(assume_yes, again)
    try:
        with _ended_like_ctrl_c():
            return setup.run()
    except KeyboardInterrupt:
        setup.fail("stopped: what is finished stays, and `tcptutor setup` goes on from there")
        return _STOPPED
    except TutorError as error:
        setup.fail(str(error))
        return error.exit_code


@contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """Let a closed terminal (SIGHUP) and SIGTERM end everything as cleanly as Ctrl-C does."""
    signals = (signal.SIGHUP, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT)) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


class _Setup:
    """One run of it. Owns the exit code that grows worse with each failure."""

    def __init__(self, assume_yes: bool, again: bool) -> None:
        self._assume_yes, self._again = assume_yes, again
        self._out, self._errors = console(), console(stderr=True)
        self._snapshots = Snapshots()
        self._code = 0

    def fail(self, text: str) -> None:
        self._errors.print(f"tcptutor: {text}")
        self._code = 1

    def run(self) -> int:
        def waiting() -> None:
            self._out.print("another setup is at work: waiting for it to end")

        with only_one(places.cache(), waiting):
            if removed := leftovers.remove(self._snapshots.folder):
                self._out.print(f"removed {removed} leftover{'s' * (removed > 1)} of a setup that was ended")
            packages = needs.missing()
            parts = build.missing(self._snapshots, self._again) if needs.guest_possible() else []
            self._say_there(parts)
            if packages or parts:
                _say_plan(self._out, packages, parts)
                self._ask()
            if packages:
                self._install(packages)
            if parts:
                self._build(parts)
            return self._verify()

    def _say_there(self, parts: list[str]) -> None:
        if not needs.guest_possible():
            self._out.print("there is no guest for this machine's architecture yet: the lab will run on its own kernel")
            return
        for part in build.TITLES:
            if part not in parts:
                self._out.print(f"already there: {build.TITLES[part]}, {megabytes(build.size(self._snapshots, part))}")

    def _ask(self) -> None:
        """Go on, or raise UsageError when nobody can be asked, SetupError when the answer is no."""
        if self._assume_yes:
            return
        if not sys.stdin.isatty():
            raise UsageError("setup asks before it begins, and there is no terminal here: run `tcptutor setup --yes`")
        self._out.print("Go on? [Y/n] ", end="")
        try:
            answer = input().strip().lower()
        except EOFError:
            answer = "n"
        if answer not in ("", "y", "yes"):
            raise SetupError("nothing was changed: run `tcptutor setup` when you want the lab")

    def _install(self, packages: list[Need]) -> None:
        names = [need.package for need in packages]
        if apt.privilege() is None or not system.has_apt():
            self._out.print(f"these packages need an administrator; type as root: {apt.command(names)}")
            return
        self._out.print(f"installing {_count(names, 'package')} with apt-get ...")
        began = time.monotonic()
        try:
            apt.install(names, places.cache() / "setup.log")
        except SetupError as error:
            self.fail(str(error))
        else:
            self._out.print(f"installed {_count(names, 'package')} in {time.monotonic() - began:.0f} s")

    def _build(self, parts: list[str]) -> None:
        if lacking := needs.for_guest():
            names = ", ".join(need.package for need in lacking)
            self._out.print(f"the guest cannot be built without {names}: run `tcptutor setup` again when they are installed")
            return
        began = time.monotonic()
        try:
            with Bars(self._out) as bars:
                build.build(self._snapshots, parts, bars.part)
        except TutorError as error:
            self.fail(str(error))
            return
        for part in parts:
            size = megabytes(build.size(self._snapshots, part))
            self._out.print(f"{build.TITLES[part]}: {size} in {build.file(self._snapshots, part)}")
        self._out.print(f"built in {time.monotonic() - began:.0f} s")

    def _verify(self) -> int:
        self._out.print("trying the lab with a short run ...")
        began = time.monotonic()
        try:
            measured = verify()
        except LabUnavailable as error:
            self.fail(str(error))
            return self._code if self._code == 0 else error.exit_code
        self._out.print(f"the lab works: {measured}, in {time.monotonic() - began:.1f} s")
        return self._code


def _say_plan(out: Console, packages: list[Need], parts: list[str]) -> None:
    out.print("setup will")
    if packages:
        out.print(f"  install {_count(packages, 'package')} with apt-get:")
        for need in packages:
            out.print(f"    {need.package:<24}{need.reason}")
    for part in parts:
        what = "a small Debian system for QEMU" if part == build.IMAGE else "a booted guest, for starts within a second"
        out.print(f"  build   {build.TITLES[part]}: {what}, about {build.expected_size(part)} MB")
    if parts:
        out.print(f"  in      {places.cache()}, in about {max(1, round(build.expected_seconds(parts) / 60))} min")


def _count(things: list[str] | list[Need], name: str) -> str:
    return f"{len(things)} {name}{'s' * (len(things) != 1)}"


_Waiting = Callable[[], None]
