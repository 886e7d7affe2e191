"""Help for a processor that QEMU emulates.

QEMU keeps the addresses of memory pages in a table of its own (a softmmu TLB). It looks whether the table is too small
only when the guest's kernel empties it, and threads of one process never make the kernel do so: the table would keep
its first 256 entries, and nine of ten accesses to another page would be worked out again. (accel/tcg/cputlb.c)
"""

from __future__ import annotations

import mmap

_PAGES = 40
"""So many pages given back at once make Linux on x86 empty the whole TLB, not one entry a page: 33 and more."""
_OFTEN, _SELDOM = 0.1, 1.0
"""Between two times, s: in a run's first second, in which the table doubles each time, and later."""


class TlbFlushes:
    """Empties the TLB now and then while a run goes on."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _PAGES * mmap.PAGESIZE)
        self._due = _OFTEN

    def take(self, t: float) -> None:
        """Called again and again, `t` seconds after the traffic began."""
        if t < self._due:
            return
        self._due = t + (_OFTEN if t < _SELDOM else _SELDOM)
        for place in range(0, len(self._memory), mmap.PAGESIZE):
            self._memory[place] = 1
        self._memory.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Give the memory back; safe to call twice."""
        self._memory.close()
