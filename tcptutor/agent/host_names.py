"""Names of the lab hosts in an /etc/hosts of the lab's own, for `ping h2` and `iperf3 -c h2`."""

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
_libc = ctypes.CDLL(None, use_errno=True)


class HostNames:
    """The lab's /etc/hosts. Create it before the network: a host keeps the mounts that exist when it starts."""

    def __init__(self, file: Path = HOSTS) -> None:
        self._file = file
        self._before = file.read_text(errors="replace") if file.exists() else "127.0.0.1 localhost\n"

    @classmethod
    def private(cls) -> HostNames | None:
        """Mount a copy of /etc/hosts over it in this mount namespace; return None if the machine has no such file.

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
            # The mount keeps the file alive as long as the namespace.
            Path(name).unlink()
        return cls()

    def write(self, hosts: Iterable[Host]) -> None:
        """Add the lines of `hosts`. Writes in place, because other namespaces share the file."""
        rows = [f"{host.address}\t{host.name}\n" for host in hosts]
        with self._file.open("r+" if self._file.exists() else "w") as file:
            file.write("".join([self._before.rstrip("\n"), "\n", *rows]))
            file.truncate()
