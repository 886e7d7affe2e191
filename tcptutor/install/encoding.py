"""The encoding of this process's locale. The app's first frame asks for it, so nothing else is imported here."""

from __future__ import annotations

import codecs
import locale


def is_utf8() -> bool:
    """Return whether the locale of this process writes UTF-8."""
    return locale_encoding() == "utf-8"


def locale_encoding() -> str:
    """Return the encoding of the locale by Python's name for it; empty where the locale is not installed."""
    try:
        locale.setlocale(locale.LC_CTYPE, "")
        return codecs.lookup(locale.nl_langinfo(locale.CODESET)).name
    except (locale.Error, LookupError):
        return ""
