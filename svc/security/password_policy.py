"""Password rules (NIST SP 800-63B): passwords must have a minimum length and must not be easy to guess.

There are no rules about the kinds of characters. Common passwords are easy to guess, as are words and names, the names
of the product and the user, and repeated characters.

The lists of common passwords come from the package zxcvbn. The service does not use zxcvbn's strength estimate, because
it would keep 14 MB in memory and take 60 ms of CPU time for some passwords. In addition, zxcvbn keeps the user inputs
of one call for later calls (zxcvbn issue 84).
"""

from __future__ import annotations

import importlib.util
import re
from functools import lru_cache
from importlib.machinery import PathFinder

from svc.security.passwords import normalized

# The minimum number of characters in a password.
SHORTEST = 8
# The maximum number of characters in a password. This maximum limits the time for hashing.
LONGEST = 200

# Names of the product. A password must not consist of such a name with added digits and punctuation.
_PRODUCT = ("svc", "svcedge", "pagecounter", "pagecounters", "shortlink", "shortlinks")
# The minimum number of letters in a password that is compared with names. A password with fewer letters consists mostly
# of other characters, so it does not resemble a name.
_SHORTEST_NAME = 3
_NON_LETTERS = re.compile(r"[\W\d_]+")
_SEPARATOR = "\n"


def password_problem(password: str) -> str | None:
    """Return an error message if the password is not allowed for any user, otherwise None."""
    normal = normalized(password)
    if min(len(password), len(normal)) < SHORTEST:
        return f"must have at least {SHORTEST} characters"
    if len(set(normal.casefold())) == 1:
        return "must not be a single repeated character; try a few unrelated words"
    if _is_common(normal) or _letters(normal) in _PRODUCT:
        return "is too easy to guess; try a few unrelated words"
    return None


def password_problem_for_user(address: str, password: str) -> str | None:
    """Return an error message if this password is not allowed for the user with this email address, otherwise None."""
    normal, name = normalized(password).casefold(), address.partition("@")[0]
    letters = _letters(normal)
    same = normal in (address.casefold(), name.casefold())
    if same or (len(letters) >= _SHORTEST_NAME and letters in (_letters(address), _letters(name))):
        return "must not be your email address, or its name with digits; try a few unrelated words"
    return None


def _letters(text: str) -> str:
    return _NON_LETTERS.sub("", text.casefold())


def _is_common(password: str) -> bool:
    word = password.casefold()
    return _SEPARATOR not in word and f"{_SEPARATOR}{word}{_SEPARATOR}" in common_passwords()


@lru_cache(maxsize=1)
def common_passwords() -> str:
    """Return the common passwords that have at least `SHORTEST` characters, each between two line breaks.

    The passwords are in one string of 400 kB, because a set would take 4 MB. A search in the string takes 0.2 ms,
    compared to 50 ms for hashing a password. The service calls this function at startup, because loading the lists
    takes 20 ms.
    """
    words = {word for listed in _lists().values() for word in listed if len(word) >= SHORTEST}
    return _SEPARATOR.join(["", *sorted(words), ""])


def _lists() -> dict[str, list[str]]:
    """Return zxcvbn's lists by name, without importing zxcvbn, which would take 14 MB of memory."""
    package = importlib.util.find_spec("zxcvbn")
    spec = package and PathFinder.find_spec("zxcvbn.frequency_lists", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("the lists of the package zxcvbn are not installed")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lists: dict[str, list[str]] = module.FREQUENCY_LISTS
    return lists
