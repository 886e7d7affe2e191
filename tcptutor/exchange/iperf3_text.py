"""iperf3's JSON as files have it: several tests, a stream of lines, cut short, or inside a log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tcptutor.exchange import perfsonar
from tcptutor.exchange.iperf3_sums import with_streams

_START = re.compile(r'"start"\s*:\s*(?=\{)')
_BEGIN = re.compile(r'\{\s*"(?:start"\s*:\s*\{|event"\s*:\s*"start")')
_INTERVALS = re.compile(r'"intervals"\s*:\s*\[\s*')
_NEXT = re.compile(r"[\s,]*")
_PARTS = frozenset({"start", "intervals", "end", "error"})
_SIGNS = ("version", "test_start", "connected", "cookie")
"""Members of iperf3's `start`, of which every version has one."""
_decoder = json.JSONDecoder(parse_constant=lambda _: None)
_NO_NUMBER = re.compile(r"(?<=[:\[,\s])[-+]?(?:nan|inf(?:inity)?)(?:\([^)]*\))?(?=\s*[,}\]])", re.IGNORECASE)
"""What C's printf writes for a value that is no number, and JSON has no word for."""

_STAMP = (
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)"
)
_LOG = re.compile(
    rf"^(?:\[(?:pod|container)/[^\]]*\] ?|[\w.-]+ +\| ?)?(?:\[?{_STAMP}\]?"
    r"(?: (?:stdout|stderr) [FP])?(?: \S+ [\w./@-]+(?:\[\d+\])?:)? ?)?",
    re.MULTILINE,
)
"""What logs put in front of each line: kubectl --timestamps and --prefix, docker compose, journalctl, containerd."""
_INSIDE = r"\"start\""
"""What stands in JSON that has iperf3's as a string."""
_HOLDERS = ("log", "stdout", "msg", "message", "MESSAGE")
"""Members in which other programs keep what iperf3 printed: Docker's log driver, Ansible, journalctl -o json."""

_PRINTED = re.compile(r"\s*\{\s*\"start\"\s*:")
_DEEPEST = 8
"""Objects and arrays inside each other in which a test is looked for."""
_MOST_WITHIN = 513
"""Tests that are looked for in one object: more than are read."""

_OTHERS = (
    (re.compile(r"\A\s*\Z"), "it is empty"),
    (re.compile(r"^\d{14},[0-9a-fA-F.:]+,\d+,", re.MULTILINE), "it is iperf 2's CSV"),
    (
        re.compile(r"^\[ *ID\] Interval|^Connecting to host|^Server listening on", re.MULTILINE),
        "it is iperf's text: run iperf3 again with -J",
    ),
    (
        re.compile(r"MIGRATED (?:TCP|UDP|SCTP)|^(?:TCP|UDP) (?:STREAM|MAERTS|REQUEST)", re.MULTILINE),
        "it is netperf's",
    ),
    (re.compile(r"^ *[\d.]+ [KMGT]?B / +[\d.]+ sec = ", re.MULTILINE), "it is nuttcp's text"),
    (re.compile(r"\bcwnd:\d+.*\brtt:|\brtt:[\d.]+/.*\bcwnd:\d+"), "it is the output of ss"),
    (re.compile(r"^PING .* bytes of data|icmp_seq=\d+", re.MULTILINE), "it is the output of ping"),
    (re.compile(r"tcp_probe: "), "it is a trace of tcp_probe"),
)
_SAID = re.compile(r"^iperf3: error - (.+)$", re.MULTILINE)


def parse(text: str) -> list[dict[str, Any]]:
    """The tests in it, each as one document: start, intervals, end, error; of a damaged one what is whole.

    Raises ValueError that says what the text is when there is none.
    """
    text = _without_log(text)
    tests: list[dict[str, Any]] = []
    for document in map(with_streams, _documents(_NO_NUMBER.sub("null", text))):
        # --json-stream-full-output ends with the whole of what it has told in lines.
        if tests and (cookie := _cookie(document)) and cookie == _cookie(tests[-1]):
            tests[-1] = document
        else:
            tests.append(document)
    if not tests:
        raise ValueError(_instead(text))
    return tests


def _documents(text: str) -> Iterator[dict[str, Any]]:
    stream: dict[str, Any] = {}
    position = 0
    while (begin := text.find("{", position)) >= 0:
        whole, position = _next(text, begin)
        match whole:
            case {"event": str(name), "data": data}:
                if name == "start" and stream:
                    yield stream
                    stream = {}
                stream.setdefault("intervals", [])
                if name == "interval":
                    stream["intervals"].append(data)
                else:
                    stream[name] = data
            case dict() if _is_test(whole):
                if stream:
                    yield stream
                    stream = {}
                yield whole
            case dict() if result := perfsonar.result_in(whole):
                yield perfsonar.as_iperf3(result)
            case dict():
                yield from islice(_tests_within(whole), _MOST_WITHIN)
    if stream:
        yield stream


def _tests_within(whole: Any, depth: int = _DEEPEST) -> Iterator[dict[str, Any]]:
    """The tests that another program keeps inside its own JSON, as objects or as the text that iperf3 printed."""
    if isinstance(whole, str):
        if _PRINTED.match(whole):
            yield from _documents(whole)
        return
    inner = whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()
    for each in inner if depth else ():
        if isinstance(each, dict) and _has_measured(each):
            yield each
        elif isinstance(each, dict) and (result := perfsonar.result_in(each)):
            yield perfsonar.as_iperf3(result)
        else:
            yield from _tests_within(each, depth - 1)


def _is_test(whole: dict[str, Any]) -> bool:
    """Whether it has what iperf3's documents have, and not only a member of the same name."""
    failed = isinstance(whole.get("error"), str) and whole.keys() <= _PARTS
    return _has_measured(whole) or (failed and whole.get("start") in (None, {}))


def _has_measured(whole: dict[str, Any]) -> bool:
    start, intervals, end = (whole.get(name) for name in ("start", "intervals", "end"))
    if isinstance(start, dict) and (
        any(sign in start for sign in _SIGNS) or {"intervals", "end"} <= whole.keys()
    ):
        return True
    rows = intervals[:1] if isinstance(intervals, list) else []
    streams = [row.get("streams") for row in rows if isinstance(row, dict)]
    if any(
        isinstance(each, list) and each and isinstance(each[0], dict) and "bytes" in each[0]
        for each in streams
    ):
        return True
    return isinstance(end, dict) and ("sum_sent" in end or "sum_received" in end)


def _without_log(text: str) -> str:
    """The lines of `text` without what a log put in front of them, or around them."""
    first = text.find("{")
    if first < 0:
        return text
    if _INSIDE in text and (inner := _held(text, first)):
        return inner
    begin = text.rfind("\n", 0, first) + 1
    # A line that begins otherwise has an empty match, and stays.
    return _LOG.sub("", text) if _LOG.match(text, begin, first + 1)[0] else text  # type: ignore[index]


def _held(text: str, begin: int) -> str:
    """What programs that keep the output of others as strings have of iperf3's; empty for none."""
    kept = []
    while begin >= 0:
        try:
            whole, end = _decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(whole, dict) or _is_test(whole):
            return ""
        held = next((whole[name] for name in _HOLDERS if isinstance(whole.get(name), str)), None)
        if held is None:
            return ""
        kept.append(held if held.endswith("\n") else held + "\n")
        begin = text.find("{", end)
    inner = "".join(kept)
    return inner if "{" in inner else ""


def _next(text: str, begin: int) -> tuple[Any, int]:
    """The object at `begin` and where it ends; of a damaged one what is whole, up to where the next test begins."""
    try:
        return _decoder.raw_decode(text, begin)
    except ValueError:
        line = text.find("\n", begin) + 1 or len(text)
        if text.startswith('{"event"', begin):
            return None, line  # the last line of a test that was killed
        after = _BEGIN.search(text, begin + 1)
        end = after.start() if after else len(text)
        return _salvage(text[begin:end]), end
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


def _cookie(document: dict[str, Any]) -> Any:
    start = document.get("start")
    return start.get("cookie") if isinstance(start, dict) else None


def _instead(text: str) -> str:
    """What a text without a test is."""
    if said := _SAID.search(text):
        return f"iperf3 says {said[1].strip()!r}"
    for known, what in _OTHERS:
        if known.search(text):
            return what
    if "{" not in text:
        return "no JSON in it"
    try:
        _decoder.raw_decode(text, text.find("{"))
    except ValueError as error:
        return f"damaged: {error}"
    return "JSON of something else: it has no iperf3 test in it"


def _salvage(text: str) -> dict[str, Any]:
    """The start and the whole intervals of a document that ends in the middle; empty without a start."""
    begin = _START.search(text)
    if begin is None:
        return {}
    try:
        start, position = _decoder.raw_decode(text, begin.end())
    except ValueError:
        return {}
    intervals = []
    if listed := _INTERVALS.search(text, position):
        position = listed.end()
        while position < len(text):
            try:
                interval, position = _decoder.raw_decode(text, position)
            except ValueError:
                break
            intervals.append(interval)
            after = _NEXT.match(text, position)
            position = after.end() if after else position
    return {"start": start, "intervals": intervals}
