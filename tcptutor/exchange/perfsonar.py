"""perfSONAR's throughput results, which pScheduler stores from iperf3, iperf and nuttcp.

The format is that of pScheduler's throughput test (github.com/perfsonar/pscheduler): `intervals` and `summary`, each
with `streams` and their `summary`. Rows have throughput-bytes and throughput-bits, start and end in seconds, and if
the tool reports them retransmits, tcp-window-size (bytes) and rtt (µs); for UDP sent, lost and jitter (ms).
"""

from __future__ import annotations

from typing import Any

_NAMES = {
    "stream-id": "socket",
    "start": "start",
    "end": "end",
    "throughput-bytes": "bytes",
    "throughput-bits": "bits_per_second",
    "retransmits": "retransmits",
    "tcp-window-size": "snd_cwnd",
    "rtt": "rtt",
    "omitted": "omitted",
    "jitter": "jitter_ms",
    "lost": "lost_packets",
    "sent": "packets",
}


def find_result(result: dict[str, Any]) -> dict[str, Any] | None:
    """Return the throughput result in a JSON object, also as pScheduler's API nests it; None if it has none."""
    for each in (result, result.get("result-merged"), result.get("result")):
        summary = each.get("summary") if isinstance(each, dict) else None
        inner = summary.get("summary") if isinstance(summary, dict) else None
        if isinstance(inner, dict) and inner.keys() & {"throughput-bits", "throughput-bytes"}:
            return each
    return None


def to_iperf3(result: dict[str, Any]) -> dict[str, Any]:
    """Convert the result into iperf3's document at the sender."""
    listed = result.get("intervals")
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    summary = result["summary"]
    total = _rows(summary) or [_row(summary["summary"])]
    udp = any("lost_packets" in row or "packets" in row for row in total)
    last = max((row.get("end") or 0 for row in total), default=0)
    start = {"version": "perfSONAR", "test_start": {"protocol": "UDP" if udp else "TCP", "duration": last}}
    ended = [{"udp": row} if udp else {"sender": row} for row in total]
    if not udp and len(total) == 1 and (received := _received(summary["summary"], total[0])):
        ended[0]["receiver"] = received
    document = {"start": start, "intervals": [{"streams": _rows(part)} for part in parts]}
    return document | ({"end": {"streams": ended}} if result.get("succeeded", True) else {})


def _received(summary: dict[str, Any], row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the receiver's count for the only stream; newer versions report it as a sum of all streams."""
    rate, seconds = summary.get("receiver-throughput-bits"), row.get("seconds")
    if not isinstance(rate, int | float) or not isinstance(seconds, int | float) or rate <= 0:
        return None
    return row | {"bits_per_second": rate, "bytes": rate * seconds / 8}


def _rows(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the streams, or the row of their sum if no stream has a row."""
    listed = part.get("streams")
    rows = [_row(each) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    summary = part.get("summary")
    return rows or ([_row(summary)] if isinstance(summary, dict) else [])


def _row(row: dict[str, Any]) -> dict[str, Any]:
    converted = {ours: row[theirs] for theirs, ours in _NAMES.items() if row.get(theirs) is not None}
    start, end = converted.get("start"), converted.get("end")
    if isinstance(start, int | float) and isinstance(end, int | float):
        converted["seconds"] = end - start
    return converted | {"sender": True}
