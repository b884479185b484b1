"""Resources that a disconnect could not remove from Cloudflare, as codes for API clients and sentences for people.

The English sentences are here; the German sentences are in `german/findings.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# `uncounted_database`: a database that was not deleted, because its last counts could not be read. `why` gives the
# reason.
LeftKind = Literal["route", "worker", "database", "uncounted_database", "token", "bootstrap_token"]
LeftWhy = Literal[
    "too_slow",
    "unreachable",
    "daily_limit",
    "refused",
    "right_missing",
    "token_dead",
    "token_missing",
    "token_unreadable",
    "not_ours",
    "changed",
    "leads_elsewhere",
    "leads_nowhere",
    "leads_to_not_ours",
    "may_be_alive",
    "alive_until",
    "alive_forever",
]

# Facts that are times (ISO 8601).
MOMENTS = ("until",)


class Phrases(NamedTuple):
    """The texts for all kinds of remaining resources, and for all reasons, in one language."""

    kinds: Mapping[LeftKind, str]
    whys: Mapping[LeftWhy, str]


_KINDS: Mapping[LeftKind, str] = {
    "route": "Route {route} in the zone of {host}: {why}.",
    "worker": "Worker {worker}: {why}.",
    "database": "D1 database {database}: {why}.",
    "uncounted_database": "D1 database {database}: its last counts could not be read ({why}), so it was not deleted.",
    "token": "API token {token}: {why}.",
    "bootstrap_token": "Bootstrap token used to connect: {why}.",
}
_WHYS: Mapping[LeftWhy, str] = {
    "too_slow": "Cloudflare did not respond in time",
    "unreachable": "Cloudflare returned an error or could not be reached",
    "daily_limit": "the account has used up today's free quota of database rows",
    "refused": "Cloudflare refused: {said}",
    "right_missing": "the working token lacks the required permission",
    "token_dead": "the working token no longer works",
    "token_missing": "the service has no working token for the account",
    "token_unreadable": "the service cannot decrypt the stored working token",
    "not_ours": "the service did not create it",
    "changed": "it was changed outside the service",
    "leads_elsewhere": "it points to the Worker {holder}",
    "leads_nowhere": "it does not point to any Worker",
    "leads_to_not_ours": "the service did not create this route, which points to the Worker {holder}",
    "may_be_alive": "an interrupted attempt may have left it valid, and the service has no permission to delete tokens",
    "alive_until": "it may be valid until {until}",
    "alive_forever": "it may still be valid, and has no expiry",
}
ENGLISH = Phrases(_KINDS, _WHYS)


@dataclass(frozen=True)
class RemainingResource:
    """A resource that a disconnect could not remove.

    `facts`: the values that its sentences mention, by name, such as `route`.

    The fact `account` is present only in lists that cover several accounts.
    """

    kind: LeftKind
    why: LeftWhy
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The resource and the reason in one English sentence, for API responses and logs."""
        return self.sentence(ENGLISH, lambda _, value: value)

    def sentence(self, phrases: Phrases, shown: Callable[[str, str], str]) -> str:
        """Return the resource and the reason in one sentence.

        `shown`: returns the text of a fact in the language of `phrases`, given the fact's name and value.
        """
        facts = {name: shown(name, value) for name, value in self.facts.items()}
        why = phrases.whys[self.why].format_map(facts)
        sentence = phrases.kinds[self.kind].format_map({**facts, "why": why})
        return f"{facts['account']}: {sentence}" if "account" in facts else sentence

    def of(self, account: str) -> RemainingResource:
        """Return a copy that names the resource's account, for lists that cover several accounts."""
        return RemainingResource(self.kind, self.why, {**self.facts, "account": account})
