"""One test over many values: a loop over shipped content that reports every value that fails."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def each(
    names: str | tuple[str, ...],
    values: Iterable[Any],
    ids: Callable[[Any], str] | Iterable[str] | None = None,
) -> Callable[[Test], Test]:
    """Run a test function for every value, as one test.

    Takes the arguments of `pytest.mark.parametrize`, which makes a test of every value: better for a few examples,
    and too much for hundreds of pages or files. Fixtures are made once for all values. `pytest.skip` leaves out
    one value.

    Args:
        names: Parameters of the test function that take a value.
        values: One value, tuple or `pytest.param` for each call.
        ids: A name for each value, or a function that makes it, to be shown where the value fails.
    """
    names = tuple(names.replace(",", " ").split()) if isinstance(names, str) else names
    listed = [
        given if _is_param(given) else pytest.param(*(given if len(names) > 1 else (given,)))
        for given in values
    ]
    named = [_name(one) for one in listed] if ids is None or callable(ids) else list(ids)
    if callable(ids):
        named = ["-".join(str(ids(part)) for part in one.values) for one in listed]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def loop(**fixtures: Any) -> None:
            failed = []
            for name, one in zip(named, listed, strict=True):
                try:
                    test(**fixtures, **dict(zip(names, one.values, strict=True)))
                except pytest.skip.Exception:
                    continue
                except (Exception, pytest.fail.Exception) as error:
                    failed.append(f"{name}: {_told(error)}")
            if failed:
                pytest.fail(f"{len(failed)} of {len(listed)} fail:\n" + "\n".join(failed), pytrace=False)

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in names]
        loop.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return loop

    return decorate


def _is_param(given: Any) -> bool:
    return type(given).__name__ == "ParameterSet"


def _name(one: Any) -> str:
    return str(one.id or "-".join(map(str, one.values)))


def _told(error: BaseException) -> str:
    """Where the test failed, and the whole message."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{place.filename.rpartition('/')[2]}:{place.lineno}: {type(error).__name__}: {error}"
