"""Extraction of iperf3's JSON from files: several tests, a stream of lines, truncated, or inside a log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tcptutor.exchange.iperf3_document import find_perfsonar_result, perfsonar_to_iperf3, with_streams

_START = re.compile(r'"start"\s*:\s*(?=\{)')
_BEGIN = re.compile(r'\{\s*"(?:start"\s*:\s*\{|event"\s*:\s*"start")')
_INTERVALS = re.compile(r'"intervals"\s*:\s*\[\s*')
_NEXT = re.compile(r"[\s,]*")
_PARTS = frozenset({"start", "intervals", "end", "error"})
_SIGNS = ("version", "test_start", "connected", "cookie")
"""Members of iperf3's `start`; every version writes some of them."""
_decoder = json.JSONDecoder(parse_constant=lambda _: None)
_NO_NUMBER = re.compile(r"(?<=[:\[,\s])[-+]?(?:nan|inf(?:inity)?)(?:\([^)]*\))?(?=\s*[,}\]])", re.IGNORECASE)
"""C's printf output for values that are not numbers, which JSON cannot express."""

_STAMP = (
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)"
)
_LOG = re.compile(
    rf"^(?:\[(?:pod|container)/[^\]]*\] ?|[\w.-]+ +\| ?)?(?:\[?{_STAMP}\]?"
    r"(?: (?:stdout|stderr) [FP])?(?: \S+ [\w./@-]+(?:\[\d+\])?:)? ?)?",
    re.MULTILINE,
)
"""Prefixes that logs add to each line: kubectl --timestamps and --prefix, docker compose, journalctl, containerd."""
_QUOTED_START = r"\"start\""
"""Mark of JSON that contains iperf3's as a string."""
_OUTPUT_MEMBERS = ("log", "stdout", "msg", "message", "MESSAGE")
"""Members in which other programs store iperf3's output: Docker's log driver, Ansible, journalctl -o json."""

_PRINTED = re.compile(r"\s*\{\s*\"start\"\s*:")
_DEEPEST = 8
"""Nesting depth to which a test is searched."""
_MOST_WITHIN = 513
"""Tests that are searched in an object: more than are read."""

_OTHER_FORMATS = (
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
_ERROR = re.compile(r"^iperf3: error - (.+)$", re.MULTILINE)


def parse(text: str) -> list[dict[str, Any]]:
    """Return the tests in the text, each as a document: start, intervals, end, error.

    A damaged test gives its intact part.

    Raises:
        ValueError: The text has no test; the message describes the text.
    """
    text = _without_log(text)
    tests: list[dict[str, Any]] = []
    for document in map(with_streams, _documents(_NO_NUMBER.sub("null", text))):
        # --json-stream-full-output ends with a full document of the same test.
        if tests and (cookie := _cookie(document)) and cookie == _cookie(tests[-1]):
            tests[-1] = document
        else:
            tests.append(document)
    if not tests:
        raise ValueError(_description(text))
    return tests


def _documents(text: str) -> Iterator[dict[str, Any]]:
    stream: dict[str, Any] = {}
    position = 0
    while (begin := text.find("{", position)) >= 0:
        value, position = _next(text, begin)
        match value:
            case {"event": str(name), "data": data}:
                if name == "start" and stream:
                    yield stream
                    stream = {}
                stream.setdefault("intervals", [])
                if name == "interval":
                    stream["intervals"].append(data)
                else:
                    stream[name] = data
            case dict() if _is_test(value):
                if stream:
                    yield stream
                    stream = {}
                yield value
            case dict() if result := find_perfsonar_result(value):
                yield perfsonar_to_iperf3(result)
            case dict():
                yield from islice(_tests_within(value), _MOST_WITHIN)
    if stream:
        yield stream


def _tests_within(value: Any, depth: int = _DEEPEST) -> Iterator[dict[str, Any]]:
    """Yield the tests inside other programs' JSON, as objects or as iperf3's printed text."""
    if isinstance(value, str):
        if _PRINTED.match(value):
            yield from _documents(value)
        return
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner if depth else ():
        if isinstance(each, dict) and _has_measured(each):
            yield each
        elif isinstance(each, dict) and (result := find_perfsonar_result(each)):
            yield perfsonar_to_iperf3(result)
        else:
            yield from _tests_within(each, depth - 1)


def _is_test(value: dict[str, Any]) -> bool:
    """Return whether the object has the members of an iperf3 document, not only a member of the same name."""
    failed = isinstance(value.get("error"), str) and value.keys() <= _PARTS
    return _has_measured(value) or (failed and value.get("start") in (None, {}))


def _has_measured(value: dict[str, Any]) -> bool:
    start, intervals, end = (value.get(name) for name in ("start", "intervals", "end"))
    if isinstance(start, dict) and (
        any(sign in start for sign in _SIGNS) or {"intervals", "end"} <= value.keys()
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
    """Return the text without the prefixes of a log, or extracted from its JSON lines."""
    first = text.find("{")
    if first < 0:
        return text
    if _QUOTED_START in text and (inner := _stored_output(text, first)):
        return inner
    begin = text.rfind("\n", 0, first) + 1
    # Another line has an empty match, and stays unchanged.
    return _LOG.sub("", text) if _LOG.match(text, begin, first + 1)[0] else text  # type: ignore[index]


def _stored_output(text: str, begin: int) -> str:
    """Return iperf3's output from JSON lines that store it as a string; empty for other lines."""
    outputs = []
    while begin >= 0:
        try:
            value, end = _decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(value, dict) or _is_test(value):
            return ""
        output = next((value[name] for name in _OUTPUT_MEMBERS if isinstance(value.get(name), str)), None)
        if output is None:
            return ""
        outputs.append(output if output.endswith("\n") else output + "\n")
        begin = text.find("{", end)
    inner = "".join(outputs)
    return inner if "{" in inner else ""


def _next(text: str, begin: int) -> tuple[Any, int]:
    """Return the object at `begin` and its end; of a damaged object the intact part, up to the next test."""
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


def _description(text: str) -> str:
    """Return a description of a text without a test."""
    if error_line := _ERROR.search(text):
        return f"iperf3 says {error_line[1].strip()!r}"
    for known, what in _OTHER_FORMATS:
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
    """Return the start and the complete intervals of a truncated document; empty without a start."""
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
