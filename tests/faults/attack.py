"""One attack: a command is killed, or interrupted, at a random moment; then what is left, kept, and works is looked at.

Everything about an attack follows from its number, so that a failure comes again by it.
"""

from __future__ import annotations

import contextlib
import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tcptutor.base.errors import TutorError
from tcptutor.run import Run, load
from tcptutor.runs.parts import ENDED
from tcptutor.runs.store import RunStore
from tests import leftovers, patience
from tests.cli.command import ORDINARY_USER, TCPTUTOR
from tests.faults import machine
from tests.faults.running import EXPERIMENT, WHERE

_SHOWN = re.compile(rb"([\d.]+) of [\d.]+ s")
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CELLS = ("--grid", "seed=1..4/4", "-o", "cells.tcpsweep")
_SIGNALS = {"kill": (signal.SIGKILL,), "interrupt": (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}


class Target(NamedTuple):
    """A command that is attacked."""

    words: tuple[str, ...]
    length: float
    """Seconds that it takes on a quiet machine, or that are looked at of one that would not end."""
    typed: str = ""
    """Into its terminal once something of it is to be seen: each line when the one before has been answered."""
    victims: tuple[str, ...] = ("",)
    """Words in the command lines of what may be killed, besides the command itself, ""."""
    backend: str = "guest"
    """What the next start takes."""


_RUN = {name: ("run", *EXPERIMENT, *where) for name, where in WHERE.items()}
TARGETS = {
    "run, host": Target(_RUN["host"], 4, victims=("", "tcptutor.agent.agent"), backend="host"),
    "run, guest": Target(_RUN["guest"], 4, victims=("", "qemu-system")),
    "sweep": Target(("sweep", *EXPERIMENT, *WHERE["guest"], *_CELLS), 9, victims=("", "", "qemu-system")),
    "shell, host": Target(
        ("shell", "--backend", "host"),
        6,
        "iperf3 -s -D\niperf3 -c 10.0.0.1 -t 3\n",
        ("", "tcptutor.agent.agent"),
        "host",
    ),
    "shell, guest": Target(("shell",), 8, "sleep 3\nip link\n", ("", "qemu-system")),
    "app": Target(
        ("--module", "parallel-streams"), 10, "\x1b[C\n\x1b[C\n\x1b[C\nx\ny\n", ("", "", "qemu-system")
    ),
    "building": Target(("setup", "--yes"), 25, victims=("", "qemu-system")),
}
_SHARES = (
    ["run, host"] * 5 + ["run, guest"] * 6 + ["sweep"] * 2 + ["shell, host", "shell, guest"] + ["app"] * 4
)
"""Of twenty attacks; one more builds snapshots."""


class Attacked:
    """A command in a terminal of its own, with folders of its own. `output` grows while it is read."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.output = bytearray()
        self._typed = target.typed.splitlines(keepends=False)
        self._answered = 0
        self._environment = {
            **os.environ,
            leftovers.MARK: self.mark,
            "PYTHONFAULTHANDLER": "1",
            "XDG_DATA_HOME": str(folder / "data"),
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
        }
        if target.words[0] == "setup":
            self._environment["XDG_CACHE_HOME"] = str(_image_alone(folder / "cache"))
        self._folder = folder
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            # What started us may have had us ignore some, as nohup does, and a command keeps to that.
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.chdir(folder)
            # Root has no shell on the host's kernel.
            command = [
                *(ORDINARY_USER if target.words[0] == "shell" and target.backend == "host" else []),
                TCPTUTOR,
            ]
            os.execvpe(command[0], [*command, *target.words], self._environment)

    def read(self, seconds: float) -> None:
        """Read for so long, and type what is to be typed when what came before has been answered."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._fd], [], [], min(left, 0.3))[0]:
                if self._typed and len(self.output) > self._answered:
                    self._answered = len(self.output)
                    line = self._typed.pop(0)
                    with contextlib.suppress(OSError):
                        os.write(
                            self._fd, line.encode() + (b"" if len(line) == 1 or line[0] == "\x1b" else b"\r")
                        )
                continue
            try:
                self.output += os.read(self._fd, 65536)
            except OSError:  # it has ended
                return

    def signal(self, number: signal.Signals, victim: str, chance: random.Random) -> str:
        """To the command, or to what runs for it with `victim` in its command line. What was hit; empty: nothing."""
        if not victim:
            os.kill(self.pid, number)
            return "the command"
        found = [line for line in leftovers.marked(self.mark) if victim in line]
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(chance.choice(found).split()[0]), number)
                return victim
        return ""

    def end(self, seconds: float) -> int | None:
        """The exit code, negative for a signal; None when it does not end in time: `output` then ends with where its
        threads stood when it was killed.
        """
        deadline = patience.Deadline(seconds)
        while deadline.left:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read(0.05)
                os.close(self._fd)
                return os.waitstatus_to_exitcode(status)
            self.read(0.02)
        os.kill(self.pid, signal.SIGABRT)
        self.read(2)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)
        return None

    @property
    def shown(self) -> float:
        """Seconds of the run that were to be seen last; pages round them."""
        told = _SHOWN.findall(self.output)
        return float(told[-1]) if told else 0.0

    def again(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Another command in the same folders."""
        return subprocess.run(
            [TCPTUTOR, *words], env=self._environment, cwd=self._folder, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=patience.seconds(180),
        )  # fmt: skip


def _image_alone(cache: Path) -> Path:
    """A cache in which there is the image, and no snapshot yet."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    shutil.copytree(
        usual / "tcptutor" / "guest", cache / "tcptutor" / "guest", ignore=lambda _, names: _snapshots(names)
    )
    return cache


def _snapshots(names: list[str]) -> set[str]:
    return {name for name in names if "snapshot" in name}


def target_of(number: int) -> str:
    """What the attack of that number is made on."""
    return "building" if number % 40 == 39 else _SHARES[number % len(_SHARES)]


class Outcome(NamedTuple):
    case: str
    """What was done, and when."""
    wrong: list[str]
    """A sentence for each thing that is not as it should be."""


def attack(how: str, number: int) -> Outcome:
    """Make it. `how` is one of "kill" and "interrupt"."""
    wrong = list[str]()
    name = target_of(number)
    target = TARGETS[name]
    chance = random.Random(f"{how} {number}")
    number_of = chance.choice(_SIGNALS[how])
    victim = chance.choice(target.victims) if how == "kill" else ""
    before = machine.look()
    with tempfile.TemporaryDirectory(prefix="tcptutor-attack-", ignore_cleanup_errors=True) as place:
        attacked = Attacked(target, Path(place))
        # As many early as late, and a few in the first instants.
        after = chance.uniform(0, patience.seconds(target.length)) * chance.choice((1, 1, 1, 0.1))
        attacked.read(after)
        code: int | None = 0
        hit = ""
        with contextlib.suppress(ProcessLookupError):
            hit = attacked.signal(number_of, victim, chance)
        if not hit and target.words[0] in ("shell", "--module"):  # would not end by itself
            hit = attacked.signal(signal.SIGTERM, "", chance) and ""
        if hit and victim and target.words[0] in ("shell", "--module"):
            attacked.read(2)
            with contextlib.suppress(ProcessLookupError):
                attacked.signal(signal.SIGTERM, "", chance)
        code = attacked.end(120)
        case = f"{how} {number}: {name}, {number_of.name} to {hit or 'nothing'} after {after:.2f} s"
        if attacked.shown:
            case += f", {attacked.shown} s shown"
        wrong += _wrong(target, attacked, number_of, hit, code)
        deadline = patience.Deadline(5)
        while (now := machine.look()) != before and deadline.left:
            time.sleep(0.1)
        for kind, then in before._asdict().items():
            if new := getattr(now, kind) - then:
                wrong.append(f"left {kind}: {', '.join(sorted(new))}")
    return Outcome(case, wrong)


def _wrong(
    target: Target, attacked: Attacked, sent: signal.Signals, hit: str, code: int | None
) -> Iterator[str]:
    told = _STYLE.sub("", attacked.output.decode(errors="replace"))
    if code is None:
        yield f"it did not end: {told[-3000:]}"
    if "Traceback" in told:
        yield f"a traceback: {told[-2000:]}"
    if (
        hit == "the command"
        and sent is not signal.SIGKILL
        and code not in (0, 1, 128 + sent, -sent, 128 + signal.SIGINT, None)
    ):
        yield f"exit code {code}: {told[-200:]!r}"
    if left := leftovers.wait_until_none(attacked.mark):
        yield f"left running: {left}"
    kept = list(_kept(attacked, told, hit))
    yield from (each for each in kept if isinstance(each, str))
    runs = [each for each in kept if isinstance(each, Run)]
    if target.words[0] == "run" and attacked.shown and hit:
        if not runs:
            yield f"{attacked.shown} s were shown, and nothing is kept"
        elif runs[0].experiment_s < attacked.shown - 0.05:
            yield f"{attacked.shown} s were shown, and {runs[0].experiment_s:.2f} s are kept"
    if target.words[0] == "setup":
        done = attacked.again("setup", "--yes")
    elif target.words[0] == "sweep":
        done = attacked.again(*target.words, "--json")
    else:
        done = attacked.again("run", *EXPERIMENT, *WHERE[target.backend], "--set", "duration=1s", "--json")
    if done.returncode:
        yield f"the next start ends with {done.returncode}: {done.stderr[-300:]!r}"
    if left := leftovers.wait_until_none(attacked.mark):
        yield f"left running by the next start: {left}"


def _kept(attacked: Attacked, told: str, hit: str) -> Iterator[Run | str]:
    """The runs that are kept, those of parts with them; a sentence for what should not be there."""
    folder = Path(attacked._environment["XDG_DATA_HOME"], "tcptutor", "runs")
    RunStore(folder).recover()
    for file in sorted(folder.iterdir()) if folder.is_dir() else []:
        if file.suffix == ".pcapng":
            continue
        if file.suffix != ".tcprun" or file.name.startswith("."):
            yield f"{file.name} is left in the folder of runs"
            continue
        try:
            run = load(file)
        except TutorError as error:
            yield f"a kept run cannot be read: {error}"
            continue
        if not (run.complete or run.note):
            yield f"{file.name} is cut short and does not say so"
        if hit == "the command" and run.note == ENDED and run.fidelity.status == "valid":
            yield f"{file.name} ended with its program and is called valid"
        yield run
