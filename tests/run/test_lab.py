"""What a lab is made of, and where two differ."""

from __future__ import annotations

from tcptutor.run.lab_parts import differences, fingerprint

HERE = {
    "agent": "a1",
    "qemu": "QEMU 7.2",
    "image base.cpio": "00",
    "package iperf3": "3.18",
    "tool tar2sqfs": "1.2",
}


def test_what_decides_is_in_the_fingerprint() -> None:
    mark = fingerprint(HERE)
    assert mark == fingerprint(dict(reversed(HERE.items())))
    assert len(mark) == 16
    for name in ("agent", "qemu", "image base.cpio"):
        assert fingerprint({**HERE, name: "another"}) != mark


def test_what_only_explains_is_not() -> None:
    assert fingerprint({**HERE, "package iperf3": "3.19", "tool tar2sqfs": "1.3"}) == fingerprint(HERE)


def test_of_an_unknown_lab_there_is_none() -> None:
    assert fingerprint({}) == fingerprint({"package iperf3": "3.18"}) == ""


def test_differences_begin_with_what_explains_them() -> None:
    there = {**HERE, "image base.cpio": "11", "package iperf3": "3.19", "package bash": "5"}
    assert [tuple(each) for each in differences(HERE, there)] == [
        ("package bash", "", "5"),
        ("package iperf3", "3.18", "3.19"),
        ("image base.cpio", "00", "11"),
    ]
    assert differences(HERE, HERE) == []
