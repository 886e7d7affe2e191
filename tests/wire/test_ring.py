"""The memory between guest and host: nothing lost, nothing twice, however it goes round."""

from __future__ import annotations

import mmap
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.wire import ring


@given(st.lists(st.binary(max_size=300), max_size=60))
def test_what_is_read_is_what_was_written(parts: list[bytes]) -> None:
    """Far more than fits at a time: the data goes round the 200 bytes."""
    with mmap.mmap(-1, ring.HEADER + 200 + ring.TAIL) as memory:
        writer, reader = ring.Ring(memory), ring.Ring(memory)
        got = b""
        for part in parts:
            for start in range(0, len(part), 150):
                writer.write(part[start : start + 150])
                got += reader.read()
        assert got == b"".join(parts)
        for end in (writer, reader):
            end._counters.release()
            end._data.release()
            end._request.release()
            end.deferred.release()


def test_a_full_ring_waits_for_its_reader() -> None:
    memory = mmap.mmap(-1, ring.HEADER + 64 + ring.TAIL)
    end = ring.Ring(memory)
    sent = bytes(range(256)) * 20
    thread = threading.Thread(target=end.write, args=(sent,))
    thread.start()
    got = b""
    while len(got) < len(sent):
        got += end.read()
    thread.join()
    assert got == sent
    end.write(b"old")
    end.skip()
    assert end.read() == b""
    end.close()
    with pytest.raises(ValueError, match="closed"):
        memory.read(1)


def test_a_request_is_taken_once() -> None:
    memory = mmap.mmap(-1, ring.HEADER + 64 + ring.TAIL)
    end = ring.Ring(memory)
    assert end.take_request() == b""
    request = bytes(range(256)) * (ring.REQUEST // 256)
    end.submit(request)
    assert end.take_request() == request
    assert end.take_request() == b""
    end.close()


def test_a_request_submitted_after_a_snapshot_is_found() -> None:
    """A poll that finds no request changes only the poll counter, so a later request is found."""
    memory = mmap.mmap(-1, ring.HEADER + 64 + ring.TAIL)
    end = ring.Ring(memory)
    before = [*end._counters]
    assert end.take_request() == b""
    assert [place for place, count in enumerate(end._counters) if count != before[place]] == [ring._POLLS]
    end.submit(b"request")
    assert end.take_request() == b"request"
    assert end.polls == 2
    end.close()
