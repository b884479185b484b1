"""Which passwords may be chosen (NIST SP 800-63B): long enough, and none that is guessed first. No rule on its signs.

What is guessed first: the commonest passwords, words and names; the product's and the user's own name; one sign
repeated. The common ones are the lists of the package zxcvbn, read from this machine. Of that package the lists alone
are used: its estimate of a password's strength would keep 14 MB in memory and take 60 ms of CPU for some passwords, and
what it is told of one user stays in its lists for the next (its issue 84).
"""

from __future__ import annotations

import importlib.util
import re
from functools import lru_cache
from importlib.machinery import PathFinder

from svc.security.passwords import normalised

# Characters.
SHORTEST = 8
# Longer ones are no better; the limit keeps a megabyte of password from being hashed.
LONGEST = 200

# The product, as people would write it into a password, without what is no letter.
_PRODUCT = ("svc", "svcedge", "pagecounter", "pagecounters", "shortlink", "shortlinks")
# Of a shorter name, digits behind it are most of the password.
_SHORTEST_NAME = 3
_NO_LETTERS = re.compile(r"[\W\d_]+")
_BETWEEN = "\n"


def fault_of(password: str) -> str | None:
    """Why nobody may choose this password, in words for whoever wants it; None: somebody may."""
    shown = normalised(password)
    if min(len(password), len(shown)) < SHORTEST:
        return f"must have at least {SHORTEST} characters"
    if len(set(shown.casefold())) == 1:
        return "must not be one character repeated; several words that you do not use elsewhere are good"
    if _is_common(shown) or _letters_of(shown) in _PRODUCT:
        return "is one of those that are tried first; several words that you do not use elsewhere are good"
    return None


def fault_for(address: str, password: str) -> str | None:
    """Why the user of this e-mail address may not choose it, though others may: it is the address, or its name."""
    shown, name = normalised(password).casefold(), address.partition("@")[0]
    letters = _letters_of(shown)
    same = shown in (address.casefold(), name.casefold())
    if same or (len(letters) >= _SHORTEST_NAME and letters in (_letters_of(address), _letters_of(name))):
        return "must not be the e-mail address, or the name in it with digits; take several words"
    return None


def _letters_of(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())


def _is_common(password: str) -> bool:
    word = password.casefold()
    return _BETWEEN not in word and f"{_BETWEEN}{word}{_BETWEEN}" in common_passwords()


@lru_cache(maxsize=1)
def common_passwords() -> str:
    """The common ones of the length that a password has, each between two line ends.

    One text of 400 kB, where a set would take 4 MB; to search it takes 0.2 ms, beside the 50 of a password's hash. To
    read it takes 20 ms, so the service does that when it starts.
    """
    words = {word for listed in _lists().values() for word in listed if len(word) >= SHORTEST}
    return _BETWEEN.join(["", *sorted(words), ""])


def _lists() -> dict[str, list[str]]:
    """The package's lists by their names. Not imported as usual: that alone takes the 14 MB."""
    package = importlib.util.find_spec("zxcvbn")
    found = package and PathFinder.find_spec("zxcvbn.frequency_lists", package.submodule_search_locations)
    if found is None or found.loader is None:
        raise ModuleNotFoundError("the lists of zxcvbn are not installed")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    lists: dict[str, list[str]] = module.FREQUENCY_LISTS
    return lists
