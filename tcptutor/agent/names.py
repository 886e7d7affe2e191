"""The lab hosts' names, so that `ping h2` and `iperf3 -c h2` work on each of them: an /etc/hosts of the lab's own."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tcptutor.agent.network import Host
from tcptutor.base.errors import LabError

HOSTS = Path("/etc/hosts")
_MS_BIND = 4096
"""sys/mount.h"""
_libc = ctypes.CDLL(None, use_errno=True)


class HostNames:
    """/etc/hosts as the lab has it. To be made before the network: each host keeps the mounts that are there then."""

    def __init__(self, file: Path = HOSTS) -> None:
        self._file = file
        self._before = file.read_text(errors="replace") if file.exists() else "127.0.0.1 localhost\n"

    @classmethod
    def of_our_own(cls) -> HostNames | None:
        """One that only this mount namespace has; None where the machine has no such file to put it over.

        Raises LabError.
        """
        if not HOSTS.exists():
            return None
        descriptor, name = tempfile.mkstemp(prefix="hosts-")
        try:
            os.write(descriptor, HOSTS.read_bytes())
            os.fchmod(descriptor, 0o644)
            if _libc.mount(name.encode(), str(HOSTS).encode(), None, _MS_BIND, None):
                raise LabError(f"no /etc/hosts for the lab: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(descriptor)
            # The mount holds it, for as long as the namespace lasts.
            Path(name).unlink()
        return cls()

    def write(self, hosts: Iterable[Host]) -> None:
        """These are there now. Written in place: other namespaces have the same file."""
        rows = [f"{host.address}\t{host.name}\n" for host in hosts]
        with self._file.open("r+" if self._file.exists() else "w") as file:
            file.write("".join([self._before.rstrip("\n"), "\n", *rows]))
            file.truncate()
