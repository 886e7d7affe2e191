"""iperf3 results reduced to their sums, as scripts and dashboards trim them."""

from __future__ import annotations

from typing import Any

_FORWARD, _REVERSE = 1, 2
"""Socket numbers for the sums of each direction."""


def with_streams(test: dict[str, Any]) -> dict[str, Any]:
    """Convert the sums of a test of a single stream into that stream, and set `only_sums`.

    A test that has streams, or no sums, is returned unchanged.
    """
    end, listed = test.get("end"), test.get("intervals")
    end = end if isinstance(end, dict) else {}
    intervals = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    if end.get("streams") or any(each.get("streams") for each in intervals):
        return test
    rows = [_rows(each) for each in intervals]
    summaries = _summaries(end)
    if not summaries and not any(rows):
        return test
    if _streams(test) != 1:
        return test | {"only_sums": True}
    return test | {
        "intervals": [{"streams": each} for each in rows if each],
        "end": end | {"streams": summaries},
        "only_sums": True,
    }


def _streams(test: dict[str, Any]) -> Any:
    start = test.get("start")
    begun = start.get("test_start") if isinstance(start, dict) else None
    return begun.get("num_streams") if isinstance(begun, dict) else None


def _rows(interval: dict[str, Any]) -> list[dict[str, Any]]:
    sums = ((_FORWARD, interval.get("sum")), (_REVERSE, interval.get("sum_bidir_reverse")))
    return [each | {"socket": socket} for socket, each in sums if isinstance(each, dict)]


def _summaries(end: dict[str, Any]) -> list[dict[str, Any]]:
    summaries = []
    for socket, suffix in ((_FORWARD, ""), (_REVERSE, "_bidir_reverse")):
        named = {name: end.get(name + suffix) for name in ("sum", "sum_sent", "sum_received")}
        known = {
            name: row for name, row in named.items() if isinstance(row, dict) and "bits_per_second" in row
        }
        if any("packets" in row for row in known.values()):
            summaries.append({"udp": _udp(known) | {"socket": socket}})
        elif "sum_sent" in known:
            ends = {"sender": _without_sender(known["sum_sent"], socket)}
            if "sum_received" in known:
                ends["receiver"] = _without_sender(known["sum_received"], socket)
            summaries.append(ends)
    return summaries


def _udp(known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a stream's summary as iperf3 writes it: the sender's bytes with the receiver's losses."""
    if "sum" in known:
        return known["sum"]
    names = ("lost_packets", "packets", "jitter_ms", "lost_percent")
    received = known.get("sum_received", {})
    return known.get("sum_sent", {}) | {name: received[name] for name in names if name in received}


def _without_sender(row: dict[str, Any], socket: int) -> dict[str, Any]:
    """Return a sum without `sender`, which marks the counting end, not the file's writer."""
    return {name: value for name, value in row.items() if name != "sender"} | {"socket": socket}
