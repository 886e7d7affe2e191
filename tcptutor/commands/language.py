"""The language of the lessons, from --language, the configuration file or the locale, in this order."""

from __future__ import annotations

import os

from tcptutor.base import places
from tcptutor.base.errors import UsageError, unknown
from tcptutor.base.language_tags import locale_language


def chosen_language(given: str | None) -> str:
    """Return the translation to show; empty for the original.

    Raises:
        UsageError: The course has no pages in the `given` language.
    """
    from tcptutor.course.languages import fitting_language, languages, original_language  # noqa: PLC0415

    root = places.lessons()
    if given is not None:
        found = fitting_language(root, given)
        if found is None:
            raise UsageError(unknown("language", given, [original_language(root), *languages(root)]))
        return found
    wanted = _configured() or locale_language(os.environ)
    return (fitting_language(root, wanted) if wanted else None) or ""


def _configured() -> str:
    from tcptutor.ui.configuration.config_file import read_config  # noqa: PLC0415  # not for every command

    files = (places.config_file(), places.site_config_file())
    found = (read_config(file).preferences.language for file in files)
    return next((each for each in found if each is not None), "")
