"""The kernel's cache of TCP metrics by destination (linux/tcp_metrics.h), as `ip tcp_metrics` shows it."""

from __future__ import annotations

import struct

from tcptutor.agent.netlink.messages import ATTRIBUTE, DUMP, HEADER, NetlinkSocket, attributes, compose

_GENERIC, _CONTROLLER, _GET_FAMILY = 16, 16, 3
_CONTROLLER_ID, _CONTROLLER_NAME = 1, 2
_FAMILY = b"tcp_metrics\0"
_GET, _VALUES = 1, 6
_SSTHRESH = 3
"""TCP_METRIC_SSTHRESH + 1: attributes start at 1."""
_COMMAND = struct.Struct("=BBxx")
_U16, _U32 = struct.Struct("=H"), struct.Struct("=I")
_AFTER_COMMAND = HEADER.size + _COMMAND.size


class TcpMetrics(NetlinkSocket):
    """Requests for the cached metrics of a namespace. Raises LabError if the kernel has no such cache."""

    _PROTOCOL = _GENERIC

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self._every_entry = compose(self._family(), DUMP, _COMMAND.pack(_GET, 1))

    def smallest_ssthresh(self) -> int | None:
        """Return the smallest cached slow start threshold, segments; None without one. Walks the whole cache."""
        values = [
            _U32.unpack_from(message, at)[0]
            for message in self._all(self._every_entry)
            for kind, begin, size in attributes(message, _AFTER_COMMAND, len(message))
            if kind == _VALUES
            for metric, at, _ in attributes(message, begin, begin + size)
            if metric == _SSTHRESH
        ]
        return min(values, default=None)

    def _family(self) -> int:
        name = ATTRIBUTE.pack(ATTRIBUTE.size + len(_FAMILY), _CONTROLLER_NAME) + _FAMILY
        request = compose(_CONTROLLER, 0, _COMMAND.pack(_GET_FAMILY, 1) + name)
        answer = self._answer(self._ask(request), 4096)
        ids = [
            at for kind, at, _ in attributes(answer, _AFTER_COMMAND, len(answer)) if kind == _CONTROLLER_ID
        ]
        return int(_U16.unpack_from(answer, ids[0])[0]) if ids else 0
