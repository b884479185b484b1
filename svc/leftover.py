"""What a disconnect leaves at the edge platform: each thing and the reason, by codes for programs and in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

# `uncounted_database`: it was not deleted, since its last counts could not be read; `why` says why not.
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
]

_KINDS: Mapping[LeftKind, str] = {
    "route": "Route {route} in the zone of {host}: {why}.",
    "worker": "Worker {worker}: {why}.",
    "database": "D1 database {database}: {why}.",
    "uncounted_database": "D1 database {database}: its last counts could not be read ({why}), so it was not deleted.",
    "token": "API token {token}: {why}.",
    "bootstrap_token": "The bootstrap token of the connect: {why}.",
}
_WHYS: Mapping[LeftWhy, str] = {
    "too_slow": "the edge platform did not answer in time",
    "unreachable": "the edge platform failed or could not be reached",
    "daily_limit": "the account has used up its free database rows of today",
    "refused": "the edge platform refused: {said}",
    "right_missing": "the working token lacks the right",
    "token_dead": "the working token does not work any more",
    "token_missing": "the service has no working token of the account",
    "token_unreadable": "the service cannot open the working token that it has stored",
    "not_ours": "the service did not make it",
    "changed": "it was changed outside the service",
    "leads_elsewhere": "it leads to the worker {holder}",
    "leads_nowhere": "it leads to no worker",
    "leads_to_not_ours": "it leads to the worker {holder}, but the service did not make it",
    "may_be_alive": "it may be alive, from a try that was cut short, and the service has no right to delete tokens",
    "alive_until": "it may be alive until {until}",
}


@dataclass(frozen=True)
class Leftover:
    """`facts`: what the words name, e.g. `route`; `account`, where it is told among those of other accounts."""

    kind: LeftKind
    why: LeftWhy
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """It and the reason in a sentence."""
        why = _WHYS[self.why].format_map(self.facts)
        sentence = _KINDS[self.kind].format_map({**self.facts, "why": why})
        return f"{self.facts['account']}: {sentence}" if "account" in self.facts else sentence

    def of(self, account: str) -> Leftover:
        """The same, told among those of other accounts."""
        return Leftover(self.kind, self.why, {**self.facts, "account": account})
