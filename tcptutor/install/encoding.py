"""Encoding of the process's locale. The app's first frame needs it, so this module imports little."""

from __future__ import annotations

import codecs
import locale


def is_utf8() -> bool:
    """Check whether this process's locale writes UTF-8."""
    return locale_encoding() == "utf-8"


def locale_encoding() -> str:
    """Return Python's name of the locale's encoding; empty when the locale is not installed."""
    try:
        locale.setlocale(locale.LC_CTYPE, "")
        return codecs.lookup(locale.nl_langinfo(locale.CODESET)).name
    except (locale.Error, LookupError):
        return ""
