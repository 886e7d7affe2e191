"""Language tags (RFC 5646), such as `de` and `pt-BR`: spelling, choice among several, and the locale's language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_TAG = re.compile(
    r"(?P<language>[A-Za-z]{2,3})(?:[-_](?P<script>[A-Za-z]{4}))?(?:[-_](?P<region>[A-Za-z]{2}|[0-9]{3}))?"
    r"(?P<variants>(?:[-_](?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*)"
)
_LANGUAGES = frozenset(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en"
    " eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja"
    " jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb"
    " nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq"
    " sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu".split()
)
"""Two-letter codes of ISO 639-1; codes of three letters are not checked."""


def normal_tag(name: str) -> str:
    """Return a language tag in its usual spelling, "pt-BR" for "PT_br"; empty for a name that is no tag."""
    found = _TAG.fullmatch(name)
    if found is None:
        return ""
    language = found["language"].lower()
    if len(language) == 2 and language not in _LANGUAGES:
        return ""
    parts = [language, (found["script"] or "").title(), (found["region"] or "").upper()]
    parts += found["variants"].lower().replace("_", "-").split("-")
    return "-".join(filter(None, parts))


def best_language(wanted: str, available: Sequence[str]) -> str:
    """Return the most exact available tag for the wanted one (RFC 4647, section 3.4); empty if none fits."""
    parts = normal_tag(wanted).split("-")
    tags = ("-".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((tag for tag in tags if tag and tag in available), "")


def locale_language(environment: Mapping[str, str]) -> str:
    """Return the language of messages by the locale: "de-DE" for LANG=de_DE.UTF-8; empty for C."""
    name = next(filter(None, map(environment.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return normal_tag(re.split(r"[.@]", name)[0])
