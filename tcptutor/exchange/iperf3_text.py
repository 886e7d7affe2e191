"""iperf3's JSON as it lies in files: with lines before or after it, as a stream of lines, or cut short."""

from __future__ import annotations

import json
import re
from typing import Any

_START = re.compile(r'"start"\s*:\s*(?=\{)')
_INTERVALS = re.compile(r'"intervals"\s*:\s*\[\s*')
_NEXT = re.compile(r"[\s,]*")
_decoder = json.JSONDecoder()


def parse(text: str) -> dict[str, Any]:
    """One document: start, intervals, end, error; of a damaged one what is whole. Raises ValueError."""
    begin = text.find("{")
    if begin < 0:
        raise ValueError("no JSON in it")
    try:
        whole: dict[str, Any] = _decoder.raw_decode(text, begin)[0]
    except ValueError as error:
        whole = _salvage(text)
        if not whole:
            raise ValueError(f"damaged: {error}") from error
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if "event" in whole:
        whole = _from_stream(text[begin:])
    if not whole.keys() & {"start", "intervals", "end", "error"}:
        raise ValueError("JSON of something else")
    return whole


def _from_stream(text: str) -> dict[str, Any]:
    """The document that lines of {"event": ..., "data": ...} make; lines that are none are left out."""
    whole: dict[str, Any] = {"intervals": []}
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the last line of a test that was killed, or the whole document of --json-stream-full-output
        match event:
            case {"event": "interval", "data": data}:
                whole["intervals"].append(data)
            case {"event": str(name), "data": data}:
                whole[name] = data
    return whole


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
