"""Reads the columns in which other products mark restricted links, such as expired or password-protected links. No I/O.

Of these restrictions, this service supports only start and expiry dates, which are imported. Apart from them, an
imported link works for all visitors at any time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from svc.imports.reader import NULLS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# The restrictions, with descriptions. A row with several restrictions is counted under the first of them.
RESTRICTIONS = {
    "banned": "banned or marked as unsafe",
    "deleted": "deleted",
    "disabled": "disabled",
    "archived": "archived",
    "expired": "expired",
    "visit-limit": "limited to a number of visits",
    "password": "password-protected",
}
# The values of `--include`. `scheduled` only concerns start dates that cannot be parsed.
INCLUDED = (*RESTRICTIONS, "scheduled")

# The columns with flags, such as "banned", by their names in lower case, reduced to letters and digits. Many products
# store the time of the change instead of "true", so any value that is not in UNSET means that the flag is set.
FLAGS = {
    "banned": ("banned", "isbanned", "bannedat", "blocked", "isblocked", "blockedat", "unsafe", "isunsafe"),
    "deleted": ("deleted", "isdeleted", "deletedat", "trashed", "istrashed", "trashedat"),
    "disabled": ("disabled", "isdisabled", "disabledat", "paused", "ispaused"),
    "archived": ("archived", "isarchived", "archivedat"),
    "expired": ("expired", "isexpired"),
    "password": (
        "password",
        "passwordhash",
        "haspassword",
        "passwordprotected",
        "ispasswordprotected",
        "passwordenabledat",
    ),
}
ACTIVE = ("active", "isactive", "enabled", "isenabled")
# Columns with expiry times. Despite its name, Kutt's `expire_in` contains a point in time, not a duration.
ENDS = (
    "expirein",
    "expiresat",
    "expiredat",
    "expires",
    "expireson",
    "expiration",
    "expirationdate",
    "expiry",
    "expirydate",
    "validuntil",
    "endsat",
)
STARTS = ("validsince", "validfrom", "startsat", "startdate")
# 2100-01-01. Some products store a date in the distant future for links that never expire. The API rejects dates from
# 2100 on, so such dates are ignored.
NEVER_MS = 4_102_444_800_000
VISITS = ("maxvisits", "maxclicks", "maxviews", "visitlimit", "clicklimit", "clickslimit")
STATES = ("status", "state")
STATE_WORDS = {
    "banned": "banned",
    "blocked": "banned",
    "suspended": "banned",
    "deleted": "deleted",
    "trashed": "deleted",
    "removed": "deleted",
    "disabled": "disabled",
    "inactive": "disabled",
    "paused": "disabled",
    "archived": "archived",
    "expired": "expired",
}
_NOTHING = {*NULLS, "none", "undefined", "never", "0000-00-00", "0000-00-00 00:00:00"}
FALSE = {"0", "f", "false", "n", "no", "off", "falsch", "nein"}
UNSET = _NOTHING | FALSE
_EPOCH = re.compile(r"[0-9]{1,14}")
LAST_EPOCH_S = 100_000_000_000  # larger numbers are in milliseconds


class Restricted(NamedTuple):
    """A link's restrictions.

    `starts_at`, `ends_at`: the link's start and expiry date (epoch ms) if they are in the future. `unreadable`: None
    if all dates could be parsed. Otherwise, the value of `--include` that ignores the unreadable date, and the date's
    column and text.
    """

    kinds: tuple[str, ...] = ()
    starts_at: int | None = None
    ends_at: int | None = None
    unreadable: tuple[str, str, str] | None = None


UNRESTRICTED = Restricted()


class _Unreadable(ValueError):
    pass


class Restrictions:
    """The columns in which a table contains link restrictions. `columns`: the names of these columns."""

    def __init__(self, names: Sequence[str], plain: Sequence[str], now: int) -> None:
        self._now = now
        self._checks: list[tuple[int, str, Callable[[str], bool]]] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._states: list[int] = []
        for place, name in enumerate(plain):
            for kind, known in FLAGS.items():
                if name in known:
                    self._checks.append((place, kind, _is_set))
            if name in ACTIVE:
                self._checks.append((place, "disabled", _is_false))
            if name in STARTS:
                self._starts.append(place)
            if name in VISITS:
                self._checks.append((place, "visit-limit", _is_set))
            if name in ENDS:
                self._ends.append(place)
            if name in STATES:
                self._states.append(place)
        self._names = names
        places = sorted({place for place, _, _ in self._checks} | {*self._starts, *self._ends, *self._states})
        self.columns = tuple(names[place].strip() for place in places)

    def read(self, fields: Sequence[str]) -> Restricted:
        """Return the restrictions of the link in a row with these fields.

        Dates that cannot be parsed do not raise an error.
        """
        kinds = {STATE_WORDS.get(fields[place].lower(), "") for place in self._states}
        kinds.update(kind for place, kind, restricts in self._checks if restricts(fields[place]))
        unreadable = None
        moments: dict[str, list[int]] = {"scheduled": [], "expired": []}
        for kind, places in zip(moments, (self._starts, self._ends), strict=True):
            for place in places:
                try:
                    moment = _moment(fields[place])
                except _Unreadable:
                    unreadable = (kind, self._names[place].strip(), fields[place])
                    continue
                if moment is not None:
                    moments[kind].append(moment)
        starts, ends = moments.values()
        if any(moment <= self._now for moment in ends):
            kinds.add("expired")
        return Restricted(
            tuple(kind for kind in RESTRICTIONS if kind in kinds),
            max((moment for moment in starts if moment > self._now), default=None),
            min((moment for moment in ends if self._now < moment < NEVER_MS), default=None),
            unreadable,
        )


def _is_set(text: str) -> bool:
    return text.lower() not in UNSET


def _is_false(text: str) -> bool:
    return text.lower() in FALSE


def _moment(text: str) -> int | None:
    """Parse a time and return it in epoch ms, or None if the field is unset. A time without a time zone is in UTC.

    Raises _Unreadable.
    """
    if text.lower() in UNSET:
        return None
    if _EPOCH.fullmatch(text):
        return int(text) * (1000 if int(text) < LAST_EPOCH_S else 1)
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise _Unreadable from None
