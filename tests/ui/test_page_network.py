"""What a terminal of a page opens on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from tcptutor.course import load
from tcptutor.ui.screens.lesson_terminal import TerminalSide


def test_every_page_that_names_a_shell_in_its_text_has_a_network_for_it() -> None:
    named = []
    for module in load().modules:
        for step in module.steps:
            if "tcptutor shell h" in step.prose:
                side = object.__new__(TerminalSide)
                side.study = cast("Any", SimpleNamespace(module=module, step=step))
                assert side.network is not None, f"{module.id}/{step.id}"
                if step.shell is None and not step.experiments:
                    named.append(side.network.name)
    assert named, "at least one of them runs nothing itself"
