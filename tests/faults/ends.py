"""`python -m tests.faults.ends [WORD]`: every command at every odd end and in every odd home; what is wrong is told.

WORD takes those whose command or condition has it in its name.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests import patience
from tests.cli.places import FOUR
from tests.command import COMMAND

LONG = "x" * 5000
LONGEST = 20.0
"""Seconds that a command may take on a quiet machine."""
ORDINARY = f"{shutil.which('setpriv')} --bounding-set=-all --inh-caps=-all -- " if os.geteuid() == 0 else ""
"""Without its capabilities even root is refused."""
GONE = 141
ROOT = Path(__file__).parents[2]
STREAMS = Path(__file__).parents[1] / "exchange" / "files" / "iperf3-3.7-two-flows.json"


class Command(NamedTuple):
    """One that needs no lab."""

    words: tuple[str, ...]
    codes: frozenset[int] = frozenset({0})
    """How it may end where nothing is odd."""
    keeps: bool = False
    """Whether it does its work in the user's folders, so that it fails in one line where these cannot be had."""

    @property
    def prints(self) -> bool:
        """Whether anything is for standard output."""
        return self.codes <= {0} or 3 in self.codes


def _ends_with(*codes: int) -> frozenset[int]:
    return frozenset(codes)


COMMANDS = {
    "--version": Command(("--version",)),
    "--help": Command(("--help",)),
    "list": Command(("list",)),
    "list --json": Command(("list", "--json")),
    "list of one": Command(("list", "parallel-streams")),
    "model": Command(("model",)),
    "model of one": Command(("model", "mathis", "mss=1448", "rtt=20ms", "loss=0.1%")),
    "model --json": Command(("model", "--json")),
    "show": Command(("show", str(FOUR))),
    "show --json": Command(("show", str(FOUR), "--json")),
    "export": Command(("export", str(FOUR), "-o", "-")),
    "runs": Command(("runs",), keeps=True),
    "runs --json": Command(("runs", "--json"), keeps=True),
    "show last": Command(("show", "last"), _ends_with(2), keeps=True),
    "import": Command(("import", str(STREAMS)), keeps=True),
    "plot --help": Command(("plot", "--help")),
    "setup --help": Command(("setup", "--help")),
    "lint": Command(("lint", "{root}/tests/course/examples")),
    "sweep --dry-run": Command(
        ("sweep", "random-loss", "--grid", "seed=1..4/4", "--dry-run", "--backend", "replay")
    ),
    "check": Command(("check",), _ends_with(2)),
    "doctor": Command(("doctor",), _ends_with(0, 3)),
    "doctor --json": Command(("doctor", "--json"), _ends_with(0, 3)),
    "run": Command(("run", "slow-start", "--backend", "replay"), keeps=True),
    "run --json": Command(("run", "slow-start", "--backend", "replay", "--json"), keeps=True),
    "app": Command((), _ends_with(1)),
    "module": Command(("--module", "parallel-streams"), _ends_with(1)),
    "wrong": Command(("lsit",), _ends_with(2)),
    "wrong option": Command(("list", "--jsno"), _ends_with(2)),
    "long command": Command((LONG,), _ends_with(2)),
    "long option": Command(("list", f"--{LONG}"), _ends_with(2)),
    "long name": Command(("list", LONG), _ends_with(2)),
    "long model": Command(("model", LONG), _ends_with(2)),
    "long value": Command(("model", "mathis", f"mss={LONG}"), _ends_with(2)),
    "long digits": Command(("model", "mathis", f"mss={'9' * 5000}"), _ends_with(2)),
    "long run": Command(("show", LONG), _ends_with(2)),
    "long run's file": Command(("show", f"./{LONG}/{LONG}"), _ends_with(2)),
    "long export": Command(("export", LONG, "-o", "-"), _ends_with(2)),
    "long target": Command(("export", str(FOUR), "-o", LONG), _ends_with(1, 2)),
    "long plot": Command(("plot", str(FOUR), "-o", f"{LONG}.svg"), _ends_with(1, 2)),
    "long plotted": Command(("plot", LONG, "-o", "x.svg"), _ends_with(2)),
    "long import": Command(("import", LONG), _ends_with(1, 2)),
    "long imported": Command(("import", str(STREAMS), "-o", LONG), _ends_with(1, 2)),
    "long course": Command(("lint", LONG), _ends_with(1, 2)),
    "long page": Command(("check", f"parallel-streams/{LONG}"), _ends_with(2)),
    "long page of runs": Command(("runs", "--page", LONG), _ends_with(2)),
    "long experiment": Command(("run", LONG), _ends_with(2)),
    "long setting": Command(("run", "random-loss", "--set", f"{LONG}=1"), _ends_with(2)),
    "long setting's value": Command(("run", "random-loss", "--set", f"rate={LONG}"), _ends_with(2)),
    "long grid": Command(("sweep", "random-loss", "--grid", f"{LONG}=1,2", "--dry-run"), _ends_with(2)),
    "long sweep": Command(
        ("sweep", "random-loss", "--grid", "seed=1..2/2", "-o", LONG, "--backend", "replay"), _ends_with(1, 2)
    ),
    "long shell": Command(("shell", f"parallel-streams/{LONG}"), _ends_with(2)),
    "long host": Command(("shell", LONG), _ends_with(2)),
    "long module": Command(("--module", LONG), _ends_with(1, 2)),
    "longest name": Command(("list", "x" * 120_000), _ends_with(2)),
    "longest run": Command(("show", "x" * 120_000), _ends_with(2)),
}


class Condition(NamedTuple):
    """Something odd about where a command starts."""

    ends: str = ""
    """What the shell redirects."""
    environment: Mapping[str, str | None] = {}
    """Values in which `here` is replaced by a folder of the attempt's own; None takes the name away."""
    prepare: str = ":"
    """What a shell does in `here` before."""
    home: bool = False
    """Whether the user's folders cannot be had, so that what keeps something may fail in a line."""


_NO_XDG: dict[str, str | None] = dict.fromkeys(
    ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
)


def _home(value: str | None, prepare: str = ":", *, lost: bool = True) -> Condition:
    return Condition(environment={**_NO_XDG, "HOME": value}, prepare=prepare, home=lost)


def _xdg(value: str, prepare: str = ":", *, lost: bool = True) -> Condition:
    return Condition(
        environment={"XDG_DATA_HOME": value, "XDG_CACHE_HOME": value}, prepare=prepare, home=lost
    )


PLAIN = "nothing odd"
STREAMS_AT_ENDS = {
    PLAIN: Condition(),
    "stdin closed": Condition("<&-"),
    "stdout closed": Condition(">&-"),
    "stderr closed": Condition("2>&-"),
    "all closed": Condition("<&- >&- 2>&-"),
    "stdout full": Condition(">/dev/full"),
    "stderr full": Condition("2>/dev/full"),
    "both full": Condition(">/dev/full 2>/dev/full"),
    "stdout's reader gone": Condition(">&7"),
    "stderr's reader gone": Condition("2>&7"),
    "both readers gone": Condition(">&7 2>&7"),
}
HOMES = {
    # Without it the home is what the system knows, which is no place for tests.
    "HOME unset": Condition(environment={"HOME": None}),
    "HOME empty": _home(""),
    "HOME relative": _home("odd"),
    "HOME unwritable": _home("here/home", "mkdir -m 555 home"),
    "HOME unreadable": _home("here/home", "mkdir -m 000 home"),
    "HOME a file": _home("here/home", "touch home"),
    "HOME a link to itself": _home("here/home", "ln -s home home"),
    "HOME not there": _home("/proc/nowhere/home"),
    "HOME too long": _home(f"here/{LONG}"),
    "HOME of odd bytes": _home("here/\udcff\udcfe\n", lost=False),
    "XDG empty": _xdg("", lost=False),
    "XDG relative": _xdg("odd/place", lost=False),
    "XDG unwritable": _xdg("here/data", "mkdir -m 555 data"),
    "XDG unreadable": _xdg("here/data", "mkdir -m 000 data"),
    "XDG's folder unreadable": _xdg("here/data", "mkdir -p data; mkdir -m 000 data/tcptutor"),
    "XDG too long": _xdg(f"here/{LONG}"),
    "XDG deep": _xdg("here/" + "folder/" * 700),
    "XDG a device": _xdg("/dev/null"),
    "journal a folder": _xdg("here/data", "mkdir -p data/tcptutor/journal.db data/tcptutor/runs"),
    "journal unreadable": _xdg(
        "here/data",
        "mkdir -p data/tcptutor/runs; echo x >data/tcptutor/journal.db; chmod 000 data/tcptutor/*.db",
    ),
    "runs a file": _xdg("here/data", "mkdir -p data/tcptutor; touch data/tcptutor/runs"),
    "runs unreadable": _xdg("here/data", "mkdir -p data/tcptutor; mkdir -m 000 data/tcptutor/runs"),
    "umask 077": Condition(prepare="umask 077"),
    "umask 777": Condition(prepare="umask 777", home=True),
    "folder gone": Condition(prepare="mkdir gone; cd gone; rmdir ../gone"),
}
TERMINALS = {
    "TERM unset": Condition(environment={"TERM": None}),
    "TERM dumb": Condition(environment={"TERM": "dumb"}),
    "TERM unknown": Condition(environment={"TERM": LONG}),
    "LANG C": Condition(environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "LANG unknown": Condition(environment={"LC_ALL": "xx_XX.nothing", "LANG": "no"}),
    "ASCII": Condition(environment={"PYTHONIOENCODING": "ascii"}),
    "ASCII, strict": Condition(
        environment={"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
    ),
    "COLUMNS wrong": Condition(environment={"COLUMNS": "x", "LINES": "-1"}),
    "TMPDIR not there": Condition(environment={"TMPDIR": "/proc/nowhere"}),
    "PATH empty": Condition(environment={"PATH": "/nowhere"}),
    "TZ unknown": Condition(environment={"TZ": "Nowhere/At_all"}),
}
CONDITIONS = {**STREAMS_AT_ENDS, **HOMES, **TERMINALS}


def attempt(condition: str, command: str) -> str:
    """What is wrong with the command under the condition; empty when all is well."""
    odd, asked = CONDITIONS[condition], COMMANDS[command]
    with tempfile.TemporaryDirectory(prefix="tcptutor-ends-", ignore_cleanup_errors=True) as folder:
        here = Path(folder)
        try:
            return "; ".join(_wrong(odd, asked, here))
        finally:
            subprocess.run(["chmod", "-R", "u+rwX", folder], check=False, capture_output=True)


def _wrong(odd: Condition, asked: Command, here: Path) -> Iterator[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HOME": str(here),
        "XDG_DATA_HOME": f"{here}/data",
        "XDG_CACHE_HOME": f"{here}/cache",
        "MPLCONFIGDIR": f"{here}/matplotlib",
    }
    for name, value in odd.environment.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value.replace("here", str(here))
    words = [word.replace("{root}", str(ROOT)) for word in asked.words]
    sealed = f"exec {ORDINARY}{shlex.join([*COMMAND, *words])}"
    path = environment.get("PATH", "")
    environment["PATH"] = os.environ["PATH"]
    reads, writes = os.pipe()
    script = (
        f"cd {shlex.quote(str(here))}; exec 7>&{writes} {writes}>&-; {odd.prepare}; PATH={shlex.quote(path)}; "
        f"{sealed} {odd.ends} 7>&-"
    )
    os.close(reads)
    began = time.monotonic()
    try:
        done = subprocess.run(
            ["bash", "-c", script], env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL,
            timeout=patience.seconds(LONGEST), pass_fds=(writes,),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        yield "it hangs"
        return
    finally:
        os.close(writes)
    took = time.monotonic() - began
    said = "".join(
        line
        for line in done.stderr.decode(errors="replace").splitlines(keepends=True)
        if "bash: warning" not in line
    )
    out = done.stdout.decode(errors="replace")
    if "Traceback" in said + out or "Exception ignored" in said or "Error:" in said:
        yield f"a traceback: {said[-700:]}"
    codes = expected(odd, asked)
    if done.returncode not in codes:
        yield f"exit code {done.returncode}, not {sorted(codes)}: {said[:300]!r}"
    visible = "2>" not in odd.ends
    lines = said.count("\n")
    if visible and done.returncode in (1, 2) and lines != 1:
        yield f"{lines} lines for a failure: {said[:500]!r}"
    if lines > 2:
        yield f"{lines} lines: {said[:500]!r}"
    if said and not all(line.startswith("tcptutor: ") for line in said.splitlines()):
        yield f"said by another: {said[:400]!r}"
    if len(said) > 3000:
        yield f"{len(said)} characters: {said[:80]!r} ... {said[-200:]!r}"
    if took > patience.seconds(LONGEST) / 2:
        yield f"took {took:.1f} s"


def expected(odd: Condition, asked: Command) -> frozenset[int]:
    """How the command may end."""
    codes = asked.codes
    if odd.home and asked.keeps:
        codes |= {1}
    if not asked.prints:
        return codes
    if ">&7" in odd.ends.replace("2>&7", ""):
        return frozenset({GONE})
    if any(lost in odd.ends.replace(f"2{lost}", "") for lost in (">/dev/full", ">&-")):
        return frozenset({1})
    return codes


def main() -> int:
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    cases = [
        (odd, command)
        for odd in CONDITIONS
        for command in COMMANDS
        if asked in f"{odd}/{command}" and (odd == PLAIN or not command.startswith("long"))
    ]
    with ThreadPoolExecutor(2) as pool:
        told = pool.map(lambda case: attempt(*case), cases)
        wrong = 0
        for case, line in zip(cases, told, strict=True):
            if line:
                wrong += 1
                print("/".join(case), "\n    ", line, flush=True)
    print(f"{len(cases) - wrong} of {len(cases)} as they should be")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
