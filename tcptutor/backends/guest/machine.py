"""A QEMU process: its command line, its agent port and monitor over socket pairs, and its shared memory.

It has no files of its own, and dies with the program that started it, however that ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import tempfile
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from qemu.qmp import ExecuteError, QMPClient, QMPError

from tcptutor.backends import programs
from tcptutor.backends.guest import qemu_process, recipe, saved_state, sizes
from tcptutor.backends.guest.architecture import Architecture
from tcptutor.backends.guest.image import Image
from tcptutor.backends.guest.qemu_process import Core, SharedMemory
from tcptutor.base.errors import AgentDied, LabError
from tcptutor.spec import Change
from tcptutor.wire.protocol import PORT_NAME
from tcptutor.wire.ring import SIZE

_EXACT = ",rr=record,rrfile=/dev/null"
"""QEMU's record mode, in which its threads take turns; the record itself is discarded.

Without it the main loop occasionally lets idle time pass before the guest's last instructions are counted: equal runs
differed by microseconds, and on a busy machine sometimes by a segment.
"""
_EXACT_BELOW = 0x7000_0000
"""Upper bound of the guest's instruction count modulo 2^32 at the start of exact runs.

QEMU's record starts at 0 and adds the difference as a signed number; from 2^31 on QEMU aborts.
"""
_COUNT_TIMEOUT = 300.0
"""Longest wait for the instruction count to wrap, seconds; an idle guest executes 200 million a second, or fewer."""
_START_TIMEOUT = 60.0
"""Longest start of QEMU, and longest reading of a snapshot, seconds; below 1 s on a quiet machine."""
_ENDS = re.compile(r"\[ *[0-9.]+\] (?:reboot|sysrq): |the agent ended with ")
"""Console lines printed after the actual cause of the guest's end."""
_PAUSED_ITSELF = "watchdog"
"""QEMU's state of a machine that its guest has stopped, as `agent.guest` does."""
_GONE = (QMPError, OSError, EOFError)
"""Exceptions of the monitor's client when QEMU ends."""
_BUSY = "this machine is too busy for the guest to start: end other programs, then try again"

_KERNEL_WORDS = (
    "quiet panic=-1 random.trust_cpu=off mitigations=off nokaslr norandmaps randomize_kstack_offset=off "
    "ipv6.disable=1 init_on_alloc=0 audit=0 nowatchdog lsm= psi=0 hardened_usercopy=off"
)


def kernel_command(architecture: Architecture) -> str:
    """Return the kernel's command line, with a placeholder for the clock's name, which the agent reads."""
    words = [f"console={architecture.console}", _KERNEL_WORDS, *architecture.kernel_words]
    return " ".join([*words, "tcptutor.clock={clock}"])


class Mode(NamedTuple):
    """Options of a guest's machine."""

    clock: str
    kvm: bool = False
    """Use hardware virtualization."""
    exact: bool = False
    """Make equal runs, and equal boots, byte-identical; on the virtual clock."""
    memory: int = sizes.DEFAULT_SIZE
    """Memory, MiB."""
    paced: bool = False
    """Let idle time pass as on this machine, for a person at a shell; on the virtual clock."""


def command(
    architecture: Architecture, mode: Mode, agent_fd: int, monitor_fd: int, memory_fd: int
) -> list[str]:
    """Return QEMU's arguments for the machine, except how it boots or loads a snapshot."""
    if mode.clock == "virtual":
        # The guest's time counts instructions, so the guest is never late. Idle time is free, unless it is paced.
        accelerator = ["-accel", "tcg,thread=single,tb-size=256"]
        accelerator += [
            "-icount",
            f"shift=0,sleep={'on' if mode.paced else 'off'}{_EXACT if mode.exact else ''}",
        ]
        accelerator += ["-cpu", architecture.cpu, "-rtc", "base=2025-01-01T00:00:00,clock=vm"]
        # Seed of the random numbers that QEMU gives the guest's kernel.
        accelerator += ["-seed", "1", "-device", "i6300esb", "-action", "watchdog=pause"]
    elif mode.kvm:
        accelerator = ["-accel", "kvm", "-cpu", "host"]
    else:
        accelerator = ["-accel", "tcg,thread=multi,tb-size=256", "-cpu", architecture.cpu]
    return [
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-machine", architecture.board, "-smp", "1", "-m", str(mode.memory), *accelerator,
        "-chardev", "stdio,id=console,signal=off",
        "-serial", "chardev:console",
        "-chardev", f"socket,id=agent,fd={agent_fd}",
        "-device", "virtio-serial-pci",
        "-device", f"virtserialport,chardev=agent,name={PORT_NAME}",
        "-object", f"memory-backend-file,id=output,share=on,mem-path=/proc/self/fd/{memory_fd},size={SIZE}",
        "-device", "ivshmem-plain,memdev=output,master=on",
        "-chardev", f"socket,id=monitor,fd={monitor_fd}",
        "-mon", "chardev=monitor,mode=control",
    ]  # fmt: skip


class Machine:
    """A running QEMU. Owns the process, the agent's stream and the monitor; `kill` ends them all."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self._process: asyncio.subprocess.Process | None = None
        self._monitor = QMPClient("tcptutor")
        self._sockets: list[socket.socket] = []
        self._console: deque[str] = deque(maxlen=30)
        self._console_task: asyncio.Task[None] | None = None
        self._memory = SharedMemory()
        self._core = Core()
        self._processor = 0
        """Thread id of the emulated processor."""
        self._disk: IO[bytes] | None = None
        """Disk image that receives the state of an exact boot."""
        self._polls = 1
        """Number of polls for a request after which the guest stops itself, if it stops in time."""
        self._mode: Mode
        self._writer: asyncio.StreamWriter

    async def start(self, mode: Mode, boot: list[str], fds: Sequence[int] = ()) -> None:
        """Start QEMU with the arguments `boot`, which may refer to `fds`. Raises LabError."""
        self._mode = mode
        agent, agent_there = socket.socketpair()
        monitor, monitor_there = socket.socketpair()
        self._sockets = [agent, monitor]
        with agent_there, monitor_there:
            arguments = command(
                self.architecture, mode, agent_there.fileno(), monitor_there.fileno(), self._memory.fd
            )
            qemu = await asyncio.to_thread(qemu_process.find_qemu, self.architecture.qemu)
            self._process = await asyncio.create_subprocess_exec(
                *qemu_process.command(qemu, [*arguments, *boot], parent=os.getpid(), kvm=mode.kvm),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                pass_fds=(agent_there.fileno(), monitor_there.fileno(), self._memory.fd, *fds),
            )
        self._console_task = asyncio.create_task(self._read_console())
        _, self._writer = await asyncio.open_unix_connection(sock=agent)
        try:
            async with asyncio.timeout(_START_TIMEOUT):
                await self._monitor.connect(monitor)
        except TimeoutError as error:
            raise LabError(_BUSY) from error
        except _GONE as error:
            raise LabError(f"QEMU does not start: {self.last_words() or error}") from error
        (processor,) = await self.execute("query-cpus-fast")
        self._processor = processor["thread-id"]

    def _pin_core(self) -> None:
        # A paced guest is idle most of the time, and has to notice keys at once.
        if self._mode.clock == "virtual" and not self._mode.paced and self._process is not None:
            self._core.pin(self._process.pid, self._processor)

    async def boot(self, mode: Mode, image: Image) -> None:
        """Boot `image` with our own code appended to its RAM disk. Raises LabError and OSError."""
        words = kernel_command(self.architecture).format(clock=mode.clock)
        with (
            qemu_process.memory_file(image.kernel) as kernel,
            qemu_process.memory_file(image.base, recipe.layer()) as initrd,
        ):
            boot = ["-kernel", f"/proc/self/fd/{kernel}", "-initrd", f"/proc/self/fd/{initrd}"]
            boot += ["-append", words]
            fds = [kernel, initrd]
            if mode.exact:
                # Unnamed, so that it cannot be left behind. Closed by `kill`.
                self._disk = tempfile.TemporaryFile(buffering=0, dir=image.folder.parent)  # noqa: SIM115
                self._disk.write(saved_state.empty_disk())
                fds.append(self._disk.fileno())
                boot += ["-add-fd", f"fd={self._disk.fileno()},set=1"]
                boot += ["-blockdev", "driver=file,node-name=file,filename=/dev/fdset/1,locking=off"]
                boot += ["-blockdev", "driver=qcow2,node-name=disk,file=file"]
            await self.start(mode, boot, fds)
        self._pin_core()

    async def _read_console(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._console.append(line.decode(errors="replace").strip())

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    def last_words(self) -> str:
        """Return the last line printed by the guest or QEMU, ignoring shutdown messages."""
        lines = [line for line in self._console if line and not _ENDS.match(line)]
        return next(reversed(lines), "")

    async def execute(self, name: str, **arguments: Any) -> Any:
        """Execute a monitor command. Raises AgentDied when QEMU is gone, LabError when it refuses."""
        try:
            return await self._monitor.execute(name, arguments or None)
        except ExecuteError as error:
            raise LabError(f"QEMU refuses {name}: {error}") from error
        except _GONE as error:
            raise AgentDied("the guest has ended: run the experiment again") from error

    async def restore(self, mode: Mode, snapshot: Path) -> None:
        """Start from `snapshot` and remain stopped. Raises LabError when it cannot be read."""
        async with saved_state.decompress(snapshot) as pipe:
            await self.start(mode, ["-incoming", f"fd:{pipe}"], [pipe])
            try:
                async with asyncio.timeout(_START_TIMEOUT):
                    while True:
                        status = (await self.execute("query-status"))["status"]
                        if status != "inmigrate":
                            break
                        await asyncio.sleep(0.01)
            except TimeoutError as error:
                raise LabError(_BUSY) from error
            if status not in ("paused", _PAUSED_ITSELF):
                raise LabError(f"the snapshot leaves QEMU {status}")
        self._memory.skip()
        self._polls = self._memory.polls + 1

    async def _wait_for_exact_start(self) -> None:
        """Wait until a guest on the virtual clock has stopped itself at a suitable instruction count. Raises LabError.

        On a busy machine QEMU may stop it only after its polling loop. The guest has then polled once more and is
        about to stop itself again, so a run started at this point would stop at once.
        """
        try:
            async with asyncio.timeout(_COUNT_TIMEOUT):
                while True:
                    if (await self.execute("query-status"))["status"] == _PAUSED_ITSELF:
                        late = self._memory.polls > self._polls
                        if late and self._mode.exact:
                            raise LabError(_BUSY)
                        count = (await self.execute("query-replay"))["icount"] % (1 << 32)
                        if not late and count < _EXACT_BELOW:
                            return
                        self._polls = self._memory.polls + (not late)
                        await self.execute("cont")
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise LabError("the guest does not stop for its snapshot") from error

    async def save(self, snapshot: Path) -> None:
        """Stop the guest and write its state to `snapshot`. Raises LabError."""
        if self._mode.clock == "virtual":
            await self._wait_for_exact_start()
        else:
            await self.execute("stop")
        if self._disk is None:
            await self._migrate(snapshot)
            return
        # Migration reads the clock in another thread, which record mode forbids.
        error = await self.execute("human-monitor-command", **{"command-line": "savevm snapshot"})
        if error.strip():
            raise LabError(f"QEMU cannot write the snapshot: {error.strip()}")
        async with saved_state.compress(snapshot) as pipe:
            await asyncio.to_thread(_copy_state, self._disk, pipe)

    async def _migrate(self, snapshot: Path) -> None:
        await self.execute("migrate-set-parameters", **{"max-bandwidth": 1 << 33})
        async with saved_state.compress(snapshot) as pipe:
            self._monitor.send_fd_scm(pipe)
            await self.execute("getfd", fdname="snapshot")
            await self.execute("migrate", uri="fd:snapshot")
            while (status := await self.execute("query-migrate")).get("status") != "completed":
                if status.get("status") in ("failed", "cancelled"):
                    raise LabError(
                        f"QEMU cannot write the snapshot: {status.get('error-desc', 'no reason given')}"
                    )
                await asyncio.sleep(0.05)

    async def submit(self, request: bytes, changes: Iterable[Change] = ()) -> None:
        """Submit a request to a stopped guest, with `changes` of the path due later, and resume it.

        The request is in the guest's memory before the guest resumes, so the guest finds it at the same instant in
        every run. Raises AgentDied when QEMU is gone.
        """
        self._memory.submit(request, changes)
        self._pin_core()
        await self.execute("cont")

    def send(self, request: bytes) -> None:
        """Send a running guest a further request; no-op when it is gone."""
        self._writer.write(request)

    async def readline(self) -> bytes:
        """Return the agent's next line; empty when the guest has ended."""
        return await self._memory.readline(lambda: self.alive)

    def abort(self) -> None:
        """Kill the process without waiting; `kill` cleans up after it."""
        if self._process is not None:
            programs.kill(self._process)

    async def kill(self) -> None:
        """Kill the process and release everything. Never raises; safe to call twice."""
        self.abort()
        process, self._process = self._process, None
        if process is not None:
            await process.wait()
        # Raises the error that ended the connection, which is normal once QEMU is gone.
        with contextlib.suppress(*_GONE):
            await self._monitor.disconnect()
        for end in self._sockets:
            end.close()
        if self._console_task is not None:
            self._console_task.cancel()
        if hasattr(self, "_writer"):
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()
        self._memory.close()
        self._core.release()
        if self._disk is not None:
            self._disk.close()


def _copy_state(image: IO[bytes], pipe: int) -> None:
    try:
        for piece in saved_state.state_in(image):
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(pipe, rest) :]
    except (ValueError, OSError) as error:
        raise LabError(f"the snapshot cannot be written: {error}") from error
