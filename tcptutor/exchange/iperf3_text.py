"""iperf3's JSON as it lies in files: several tests, lines between them, as a stream of lines, or cut short."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_START = re.compile(r'"start"\s*:\s*(?=\{)')
_BEGIN = re.compile(r'\{\s*"(?:start"\s*:\s*\{|event"\s*:\s*"start")')
_INTERVALS = re.compile(r'"intervals"\s*:\s*\[\s*')
_NEXT = re.compile(r"[\s,]*")
_PARTS = frozenset({"start", "intervals", "end", "error"})
_decoder = json.JSONDecoder()

_OTHERS = (
    (re.compile(r"\A\s*\Z"), "it is empty"),
    (re.compile(r"^\d{14},[0-9a-fA-F.:]+,\d+,", re.MULTILINE), "it is iperf 2's CSV"),
    (
        re.compile(r"^\[ *ID\] Interval|^Connecting to host|^Server listening on", re.MULTILINE),
        "it is iperf's text: run iperf3 again with -J",
    ),
)
_SAID = re.compile(r"^iperf3: error - (.+)$", re.MULTILINE)


def parse(text: str) -> list[dict[str, Any]]:
    """The tests in it, each as one document: start, intervals, end, error; of a damaged one what is whole.

    Raises ValueError that says what the text is when there is none.
    """
    tests: list[dict[str, Any]] = []
    for document in _documents(text):
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
            case dict() if whole.keys() & _PARTS:
                if stream:
                    yield stream
                    stream = {}
                yield whole
    if stream:
        yield stream


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
    return "JSON of something else"


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
