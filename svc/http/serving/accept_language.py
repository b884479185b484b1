"""Finds the language that the header Accept-Language prefers (RFC 9110, 12.5.4)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from svc.model import LANGUAGES

if TYPE_CHECKING:
    from svc.model import Language

# The number of characters of the header that are examined. Browsers send at most a few hundred characters.
_LONGEST = 1_000
_RANGE = re.compile(
    r"(?P<language>[a-z]{1,8})(?:-[a-z0-9]{1,8}|-\*)*[ \t]*(?:;[ \t]*q=(?P<q>0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?"
)


def preferred_language(header: str) -> Language | None:
    """Return the supported language with the highest weight.

    If weights are equal, the first language in the header wins.

    Regions do not matter: `de-AT` means German. Invalid ranges are ignored. Returns None if the header contains no
    supported language, as with `*`, which clients without a preference send.
    """
    if len(header) > _LONGEST:
        header = header[:_LONGEST].rpartition(",")[0]  # drop the last range, which may be incomplete
    return _preferred(header)


@lru_cache(maxsize=256)
def _preferred(header: str) -> Language | None:
    weights: dict[Language, float] = {}  # in the order of the header
    for part in header.lower().split(","):
        match = _RANGE.fullmatch(part.strip(" \t"))
        for language in LANGUAGES:
            if match is not None and match["language"] == language:
                weights[language] = max(float(match["q"] or 1), weights.get(language, 0))
    best = max(weights, key=weights.__getitem__, default=None)
    return best if best is not None and weights[best] > 0 else None
