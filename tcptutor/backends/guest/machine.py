"""One QEMU process: its command line, its agent port and its monitor over socket pairs, its shared memory,
so that nothing of it is in the file system. It dies with the program that started it, however that ends.
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

from tcptutor.backends import ending
from tcptutor.backends.guest import confined, initramfs, packing, sizes, vmstate
from tcptutor.backends.guest.architecture import Architecture
from tcptutor.backends.guest.cores import Core
from tcptutor.backends.guest.image import Image
from tcptutor.backends.guest.shared_memory import SharedMemory
from tcptutor.base.errors import AgentDied, LabError
from tcptutor.spec import Change
from tcptutor.wire.protocol import PORT_NAME
from tcptutor.wire.ring import SIZE

_EXACT = ",rr=record,rrfile=/dev/null"
"""QEMU's threads take turns, as it records what happens for a replay (which nobody wants: the record goes nowhere).
Without it the main loop lets idle time pass while the guest's last instructions are not counted yet, now and then: of
equal runs some differed by microseconds, and on a busy machine a few by a segment."""
_EXACT_BELOW = 0x7000_0000
"""Exact runs begin only where the guest's count of instructions, modulo 2^32, is below it. QEMU's record begins at 0
and takes that for what the first piece of the run has added, a signed number: from 2^31 on it ends itself."""
_COUNT_TIMEOUT = 300.0
"""The guest waits with 200 million instructions a second, on a slow machine with fewer."""
_START_TIMEOUT = 60.0
"""How long QEMU may take until it answers, and until it has read a snapshot, s: below one on a quiet machine."""
_ENDS = re.compile(r"\[ *[0-9.]+\] (?:reboot|sysrq): |the agent ended with ")
"""What is printed after whatever made the guest end."""
_PAUSED_ITSELF = "watchdog"
"""QEMU's name for the state of a machine that its guest has stopped, as `agent.pause` does."""
_GONE = (QMPError, OSError, EOFError)
"""What the monitor's client raises when QEMU ends: its own errors, and what its stream met at the time."""
_BUSY = "this machine is too busy for the guest to start: end other programs, then try again"

_KERNEL_WORDS = (
    "quiet panic=-1 random.trust_cpu=off mitigations=off nokaslr norandmaps randomize_kstack_offset=off "
    "ipv6.disable=1 init_on_alloc=0 audit=0 nowatchdog lsm= psi=0 hardened_usercopy=off"
)


def kernel_command(architecture: Architecture) -> str:
    """What the kernel is told, but for the clock's name, which is for the agent."""
    words = [f"console={architecture.console}", _KERNEL_WORDS, *architecture.kernel_words]
    return " ".join([*words, "tcptutor.clock={clock}"])


class Mode(NamedTuple):
    """How the guest is run."""

    clock: str
    kvm: bool = False
    """With hardware virtualisation."""
    exact: bool = False
    """On the virtual clock: equal runs, and equal boots, are equal to the byte."""
    memory: int = sizes.ORDINARY
    """MiB."""


def command(
    architecture: Architecture, mode: Mode, agent_fd: int, monitor_fd: int, memory_fd: int
) -> list[str]:
    """QEMU's arguments for the machine, without what starts it (a kernel, or a snapshot)."""
    if mode.clock == "virtual":
        # The guest's time is counted in instructions: it can never be late, and idle time costs nothing.
        accelerator = ["-accel", "tcg,thread=single,tb-size=256"]
        accelerator += ["-icount", f"shift=0,sleep=off{_EXACT if mode.exact else ''}"]
        accelerator += ["-cpu", architecture.cpu, "-rtc", "base=2025-01-01T00:00:00,clock=vm"]
        # What QEMU gives the guest's kernel as random follows from this seed.
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
    """A running QEMU. Owns the process, the agent's stream and the monitor; `kill` ends all of it."""

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
        """The thread of the emulated processor."""
        self._disk: IO[bytes] | None = None
        """What an exact boot's state is written to."""
        self._polls = 1
        """How often the guest has looked for a request when it stops itself the next time, if that is in time."""
        self._mode: Mode
        self._writer: asyncio.StreamWriter

    async def start(self, mode: Mode, boot: list[str], fds: Sequence[int] = ()) -> None:
        """Start it with `boot` (a kernel to boot, or a snapshot to take in, from one of `fds`). Raises LabError."""
        self._mode = mode
        agent, agent_there = socket.socketpair()
        monitor, monitor_there = socket.socketpair()
        self._sockets = [agent, monitor]
        with agent_there, monitor_there:
            arguments = command(
                self.architecture, mode, agent_there.fileno(), monitor_there.fileno(), self._memory.fd
            )
            qemu = await asyncio.to_thread(confined.program, self.architecture.qemu)
            self._process = await asyncio.create_subprocess_exec(
                *confined.command(qemu, [*arguments, *boot], parent=os.getpid(), kvm=mode.kvm),
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

    def _take_core(self) -> None:
        """What goes on from here goes on there."""
        if self._mode.clock == "virtual" and self._process is not None:
            self._core.take(self._process.pid, self._processor)

    async def boot(self, mode: Mode, image: Image) -> None:
        """Start it from the beginning, with our own code laid behind the image's. Raises LabError and OSError."""
        words = kernel_command(self.architecture).format(clock=mode.clock)
        with (
            confined.handed(image.kernel) as kernel,
            confined.handed(image.base, initramfs.layer()) as initrd,
        ):
            boot = ["-kernel", f"/proc/self/fd/{kernel}", "-initrd", f"/proc/self/fd/{initrd}"]
            boot += ["-append", words]
            fds = [kernel, initrd]
            if mode.exact:
                # Without a name: nothing is left of it, however this ends. Closed by `kill`.
                self._disk = tempfile.TemporaryFile(buffering=0, dir=image.folder.parent)  # noqa: SIM115
                self._disk.write(vmstate.empty())
                fds.append(self._disk.fileno())
                boot += ["-add-fd", f"fd={self._disk.fileno()},set=1"]
                boot += ["-blockdev", "driver=file,node-name=file,filename=/dev/fdset/1,locking=off"]
                boot += ["-blockdev", "driver=qcow2,node-name=disk,file=file"]
            await self.start(mode, boot, fds)
        self._take_core()

    async def _read_console(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._console.append(line.decode(errors="replace").strip())

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def last_words(self) -> str:
        """The last line that the guest or QEMU printed, but for those with which the guest's kernel and init end."""
        told = [line for line in self._console if line and not _ENDS.match(line)]
        return next(reversed(told), "")

    async def execute(self, name: str, **arguments: Any) -> Any:
        """A monitor command. Raises AgentDied when QEMU is gone, LabError when it refuses."""
        try:
            return await self._monitor.execute(name, arguments or None)
        except ExecuteError as error:
            raise LabError(f"QEMU refuses {name}: {error}") from error
        except _GONE as error:
            raise AgentDied("the guest has ended: run the experiment again") from error

    async def restore(self, mode: Mode, snapshot: Path) -> None:
        """Start from `snapshot` and stay stopped, ready to go on. Raises LabError when it cannot be read."""
        async with packing.unpacked(snapshot) as pipe:
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

    async def _stopped_where_exact_runs_can_begin(self) -> None:
        """Wait until the guest, on the virtual clock, has stopped itself there. Raises LabError.

        On a busy machine it may be stopped after the loop that it waits in. It has looked for a request once more
        then, and has begun to stop itself again: what goes on from there stands still in the next moment.
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
            await self._stopped_where_exact_runs_can_begin()
        else:
            await self.execute("stop")
        if self._disk is None:
            await self._migrate(snapshot)
            return
        # The thread of a migration reads the clock, which nobody else may do while every step is recorded.
        said = await self.execute("human-monitor-command", **{"command-line": "savevm snapshot"})
        if said.strip():
            raise LabError(f"QEMU cannot write the snapshot: {said.strip()}")
        async with packing.packed(snapshot) as pipe:
            await asyncio.to_thread(_copy, self._disk, pipe)

    async def _migrate(self, snapshot: Path) -> None:
        await self.execute("migrate-set-parameters", **{"max-bandwidth": 1 << 33})
        async with packing.packed(snapshot) as pipe:
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
        """Give a stopped guest its request, then let it go on; `changes` of the path it finds when they are due.

        The request is in the guest's memory before the guest moves: it finds it at the same instant each time.
        Raises AgentDied when QEMU is gone.
        """
        self._memory.submit(request, changes)
        self._take_core()
        await self.execute("cont")

    def send(self, request: bytes) -> None:
        """Give a running guest a further request; nothing happens when it is gone."""
        self._writer.write(request)

    async def readline(self) -> bytes:
        """One more line that the agent says; empty when the guest has ended."""
        return await self._memory.readline(lambda: self.alive)

    def abort(self) -> None:
        """End the process at once, without waiting for anything; `kill` tidies up after it."""
        if self._process is not None:
            ending.kill(self._process)

    async def kill(self) -> None:
        """End it now. Never raises; safe to call twice."""
        self.abort()
        process, self._process = self._process, None
        if process is not None:
            await process.wait()
        # It raises what has ended the connection, as it always is when QEMU is gone.
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


def _copy(image: IO[bytes], pipe: int) -> None:
    """Write the state that is in `image` to a pipe. Raises LabError."""
    try:
        for piece in vmstate.content(image):
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(pipe, rest) :]
    except (ValueError, OSError) as error:
        raise LabError(f"the snapshot cannot be written: {error}") from error
