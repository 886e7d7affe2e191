"""`tcptutor setup`: install packages, build the guest and try it with a short run. Valid parts are not rebuilt."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tcptutor.backends import programs
from tcptutor.backends.guest import cached_files
from tcptutor.backends.guest.image import WAITING
from tcptutor.backends.lab import Lab
from tcptutor.base import places
from tcptutor.base.errors import LabUnavailable, SetupError, TutorError, UsageError, refused
from tcptutor.install import guest_parts, packages, setup_plan
from tcptutor.install.findings import bars, megabytes
from tcptutor.install.setup_plan import ANY_LAB, Plan, TargetLab
from tcptutor.run import Run, lab_parts
from tcptutor.spec import Experiment, build
from tcptutor.spec.frame_sizes import ETHERNET_HEADER


def run_setup(
    say: Callable[[str], None],
    warn: Callable[[str], None],
    assume_yes: bool = False,
    again: bool = False,
    target: TargetLab | None = None,
) -> int:
    """Set up this machine and return the exit code; 1 if a part failed.

    `say` prints a line about progress, `warn` a line about a failure.
    `assume_yes` skips the question, `again` rebuilds valid parts as well. With `target` the guest becomes that lab,
    and the code is 1 when it cannot. A failed part is reported and the others continue. Raises TutorError when setup
    cannot continue.
    """
    try:
        with programs.terminate_like_ctrl_c():
            return _Setup(say, warn, assume_yes, again, target or ANY_LAB).run()
    except KeyboardInterrupt:
        raise SetupError("stopped: finished parts stay, and `tcptutor setup` continues from them") from None


@contextmanager
def _setup_lock(waiting: Callable[[], None]) -> Iterator[None]:
    """Hold setup's lock in the cache folder; call `waiting` before waiting for a concurrent setup.

    Raises SetupError when the folder cannot be written.
    """
    folder = places.cache()
    with ExitStack() as stack:
        try:
            stack.enter_context(cached_files.hold(folder / "setup.lock", waiting))
        except OSError as error:
            raise SetupError(
                f"cannot write in {folder}: {refused(error, 'set XDG_CACHE_HOME to a folder of yours')}"
            ) from error
        yield


class _Setup:
    """A run of setup. Owns the exit code, which becomes 1 once a part has failed."""

    def __init__(
        self,
        say: Callable[[str], None],
        warn: Callable[[str], None],
        assume_yes: bool,
        again: bool,
        target: TargetLab,
    ) -> None:
        self._say_line, self._warn = say, warn
        self._assume_yes, self._again, self._target = assume_yes, again, target
        self._snapshots = guest_parts.snapshots_here()
        self._code = 0
        self._for_administrator = ""
        """Command line for an administrator, when packages are missing and this user cannot install them."""

    def run(self) -> int:
        def waiting() -> None:
            self._say("another setup is running: waiting for it to end")

        with _setup_lock(waiting):
            if self._snapshots and (removed := cached_files.remove_leftovers(self._snapshots.folder)):
                self._say(f"removed {removed} leftover{'s' * (removed > 1)} of an interrupted setup")
            self._install_packed_image()
            work = setup_plan.make_plan(self._snapshots, self._again, target=self._target)
            self._say(*setup_plan.describe_present_parts(work, self._snapshots))
            if work.packages or work.parts:
                self._say(*setup_plan.describe_work(work))
                self._ask()
            if work.packages:
                self._install(work)
            if work.parts:
                self._build(work.parts)
            self._verify()
            if self._target != ANY_LAB:
                self._report_lab()
        return self._code

    def _install_packed_image(self) -> None:
        if (file := self._target.file) is None:
            return
        if self._snapshots is None:
            raise SetupError("this machine's architecture has no guest: a packed lab cannot be used here")
        self._snapshots.image.install(file, lambda: self._say(WAITING))
        self._say(f"installed the guest image from {file}")

    def _report_lab(self) -> None:
        """Report which lab this is, and how it differs from the target lab."""
        if self._snapshots is None:
            return
        here = self._snapshots.composition("virtual")
        self._say(f"this lab is {lab_parts.fingerprint(here)}")
        if target := self._target.composition:
            if lab_parts.fingerprint(here) == lab_parts.fingerprint(target):
                repeats = self._snapshots.manifest("virtual").repeats
                note = (
                    "its runs are byte-identical"
                    if repeats
                    else "with this QEMU no other lab has identical runs"
                )
                self._say(f"it is the requested lab: {note}")
                return
            self._fail(
                SetupError(
                    f"it is not {lab_parts.fingerprint(target)}: equal runs will agree within chance, not to the byte"
                )
            )
            self._say("they differ in", *(f"  {part}" for part in lab_parts.differences(here, target)))

    def _say(self, *lines: str) -> None:
        for line in lines:
            self._say_line(line)

    def _fail(self, error: TutorError) -> None:
        self._warn(str(error))
        self._code = 1

    def _ask(self) -> None:
        """Ask whether to continue. Raises UsageError without a terminal, SetupError for a no."""
        if self._assume_yes:
            return
        if not sys.stdin.isatty():
            raise UsageError("setup needs a terminal for its question: run `tcptutor setup --yes`")
        try:
            answer = input("Go on? [Y/n] ").strip().lower()
        except EOFError:
            answer = "no"
        if answer not in ("", "y", "yes"):
            raise SetupError("nothing was changed: run `tcptutor setup` when you want the lab")

    def _install(self, work: Plan) -> None:
        if not packages.installable():
            self._for_administrator = packages.install_command(work.names)
            return
        count = setup_plan.count_with_name(work.packages, "package")
        self._say(f"installing {count} with apt-get ...")
        began = time.monotonic()
        try:
            packages.install(work.names, places.cache() / "setup.log")
        except SetupError as error:
            self._fail(error)
        else:
            self._say(f"installed {count} in {time.monotonic() - began:.0f} s")

    def _build(self, missing: list[str]) -> None:
        if lacking := packages.missing_for_guest(building=guest_parts.IMAGE in missing):
            if not self._for_administrator:
                names = ", ".join(package.name for package in lacking)
                self._say(f"the guest needs {names}: run `tcptutor setup` again when they are installed")
            return
        assert self._snapshots is not None
        began = time.monotonic()
        try:
            with bars(self._say_line) as bar:
                guest_parts.build(self._snapshots, missing, bar, self._target.versions)
        except TutorError as error:
            self._fail(error)
            return
        for part in missing:
            size = megabytes(guest_parts.size(self._snapshots, part))
            self._say(
                f"built {guest_parts.TITLES[part]}: {size} in {guest_parts.file(self._snapshots, part)}"
            )
        self._say(f"built in {time.monotonic() - began:.0f} s")

    def _verify(self) -> None:
        self._say("trying the lab with a short run ...")
        began = time.monotonic()
        try:
            # After a failure of the guest this machine's own kernel may still work.
            measured = verify("host" if self._code else "auto")
        except LabUnavailable as error:
            if self._for_administrator:
                raise LabUnavailable(f"the lab needs packages: {self._remedy()}") from error
            if not self._code:
                raise
        else:
            self._say(f"the lab works: {measured}, in {time.monotonic() - began:.1f} s")
            if self._for_administrator:
                self._say(f"it works without the guest, which needs packages: {self._remedy()}")

    def _remedy(self) -> str:
        """Return what to do about packages that this user cannot install."""
        return f"ask an administrator to run {self._for_administrator}; then run `tcptutor setup` again"


TRIAL_RATE, TRIAL_DELAY = 20e6, 0.010
"""Rate and delay of the short run's path, bit/s and seconds."""

TRIAL_TOLERANCE = 0.05
"""Largest relative difference from the expected throughput."""


def trial_experiment() -> Experiment:
    """Return the test experiment: a flow that fills 20 Mbit/s at 10 ms without loss for 2 s."""
    values = {"rate": "20 Mbit/s", "delay": "10 ms", "algorithm": "cubic", "duration": "2 s", "warmup": "1 s"}
    return build("setup/verify", {"parameters": values})


def verify(backend: str = "auto") -> str:
    """Run the test and return its result as a line of text.

    Raises SetupError for a wrong result, LabUnavailable without a lab.
    """
    return asyncio.run(_verify(backend))


async def _verify(backend: str) -> str:
    lab, one_flow = Lab(backend), trial_experiment()
    try:
        await lab.warm(one_flow)
        return judge(await lab.run_whole(one_flow))
    finally:
        await lab.close()


def judge(run: Run) -> str:
    """Return the line for the result of `run`. Raises SetupError when the result is wrong."""
    place = f"{run.environment.backend}, {run.environment.clock} clock, Linux {run.environment.kernel}"
    expected = TRIAL_RATE * run.experiment.segment / (run.experiment.hosts.mtu + ETHERNET_HEADER)
    measured = sum(flow.throughput_bps for flow in run.flows)
    ping = run.fidelity.number("ping h1")
    result = f"{measured / 1e6:.2f} of {expected / 1e6:.2f} Mbit/s, ping {ping * 1e3:.2f} of {TRIAL_DELAY * 1e3:.0f} ms"
    if run.fidelity.status in ("invalid", "unchecked"):
        why = next(iter(run.fidelity.reasons), "the run was not checked")
        raise SetupError(
            f"the lab gives wrong results: {why} ({place}: {result}): run `tcptutor setup --again`"
        )
    if abs(measured / expected - 1) > TRIAL_TOLERANCE or abs(ping / TRIAL_DELAY - 1) > 0.5:
        raise SetupError(
            f"the lab runs, but measures {result} ({place}): close other programs and run `tcptutor setup` again"
        )
    return f"{place}: {result}"
