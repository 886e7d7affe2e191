"""Background work of widgets."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from textual.dom import DOMNode


def start_worker(
    node: DOMNode,
    work: Callable[..., Coroutine[Any, Any, object]],
    *arguments: object,
    group: str = "default",
    exclusive: bool = False,
) -> None:
    """Run `work` with `arguments` in a worker of `node`, which cancels it when it is removed.

    The coroutine is made in the worker: if the app ends before the worker starts, nothing remains unawaited.

    Args:
        node: a widget, a screen or the app.
        work: a coroutine function.
        arguments: positional arguments of `work`.
        group: name of the worker's group.
        exclusive: whether to cancel the other workers of the group first.
    """
    node.run_worker(partial(work, *arguments), group=group, exclusive=exclusive)  # type: ignore[arg-type]
