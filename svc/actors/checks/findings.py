"""Findings of a health check: differences between the expected and the actual state at Cloudflare."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from svc import finding
from svc.errors import CATALOGUE, EdgeRefused, ErrorNote
from svc.finding import ENGLISH, THINGS, WORDS, Words
from svc.worker.bundle import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.errors import Code, ServiceError
    from svc.finding import FindingKind, Subject, Variant
    from svc.store.tx import Tx

# An automatic repair. Raises EdgeRefused if a person has to repair the difference, and EdgeUnavailable if the next
# check should try again.
Repair = Callable[[], Awaitable[None]]
# The thing that a finding is about: its type (the subject), and the facts that distinguish it from others of that type.
About = tuple[str, ...]

_NAMES = {"worker": SCRIPT_NAME, "database": DATABASE_NAME}
TO_WORKER = finding.TO_WORKER.format_map(_NAMES)


@dataclass(frozen=True)
class Finding:
    """A difference between the expected and the actual state.

    `svc.finding` creates the description from `kind` and `facts`.

    `code`: the error code that determines the remedy. `repair`: the automatic repair, or None if a person has to repair
    the difference. `details`: details of Cloudflare's refusal. `variant`: selects one of the description's wordings.
    `free`: the description of a finding of kind `other`, which has no template. `refusal`: the reason why Cloudflare
    refused the repair; empty if Cloudflare did not refuse the repair. `is_unknown`: the state could not be read.
    """

    kind: FindingKind
    code: Code
    facts: Mapping[str, str] = field(default_factory=dict)
    repair: Repair | None = field(default=None, repr=False, compare=False)
    details: dict[str, object] | None = field(default=None, compare=False)
    variant: Variant = field(default="", kw_only=True)
    free: Words | None = field(default=None, kw_only=True)
    refusal: str = field(default="", kw_only=True)
    is_unknown: bool = field(default=False, kw_only=True)

    @property
    def subject(self) -> Subject:
        """The type of thing that the finding is about."""
        return self._words.subject

    @property
    def about(self) -> About:
        """The thing that the finding is about.

        Two findings about the same thing have equal values.
        """
        names = sorted(finding.names_in(THINGS[self.subject]))
        return (self.subject, *(self.facts[name] for name in names))

    @property
    def thing(self) -> str:
        """The name of the thing that the finding is about, such as "the route go.example.com/*"."""
        return finding.fill(THINGS[self.subject], self._all_facts)

    @property
    def expected(self) -> str:
        """The expected state, as a verb phrase."""
        return self.free.expected if self.free else finding.fill(WORDS[self.kind].expected, self._all_facts)

    @property
    def found(self) -> str:
        """The actual state, as a verb phrase."""
        actual = self.free.found if self.free else finding.found_text(self._words, self.variant, self._all_facts)
        return ENGLISH.refused.format(found=actual, refusal=self.refusal) if self.refusal else actual

    @property
    def is_repairable(self) -> bool:
        """True if the service repairs the difference automatically."""
        return self.repair is not None

    @property
    def remedy(self) -> str:
        """The instruction for the person who repairs the difference."""
        if self.is_repairable:
            return "Nothing to do: the service repairs it automatically."
        return CATALOGUE[self.code].remedy or CATALOGUE[self.code].message

    def to_note(self) -> ErrorNote:
        """Return the finding in the form in which it is stored as an account's error."""
        message = f"{self.thing[0].upper()}{self.thing[1:]} {self.found}."
        stored: dict[str, object] = {
            "kind": self.kind,
            "variant": self.variant,
            "facts": self._all_facts,
            "refusal": self.refusal,
        }
        return ErrorNote(self.code, message, self.details, None if self.free else stored)

    @property
    def _words(self) -> Words:
        return self.free or WORDS[self.kind]

    @property
    def _all_facts(self) -> dict[str, str]:
        return {**self.facts, **_NAMES}


def repair_by(context: Context, effect: Callable[[], Tx[object]]) -> Repair:
    """Return a repair that runs the transaction returned by `effect`.

    The transaction only schedules work. The account's duties then do this work at Cloudflare.
    """

    async def repair() -> None:
        await context.store.run(effect())

    return repair


def refused(subject: Subject, expected: str, error: ServiceError, permission: str = "") -> Finding:
    """Return the finding for a call that Cloudflare refused. `permission`: the permission that the call requires."""
    if isinstance(error, EdgeRefused) and error.code == "permission_error" and permission:
        return Finding("right_missing", error.code, {"right": permission, "said": error.message}, details=error.details)
    text = error.message.removesuffix(".")
    if error.code in ("token_refused", "revoked"):
        return _other(Words("token", "is accepted", f"is refused: {text}"), error.code, error)
    return _other(Words(subject, expected, f"cannot be checked: {text}"), error.code, error)


def unknown(subject: Subject, expected: str, error: ServiceError) -> Finding:
    """Return the finding for a check that could not be completed, because a call failed with a transient error."""
    text = error.message.removesuffix(".")
    words = Words(subject, expected, f"cannot be checked now: {text}")
    return replace(_other(words, "cloudflare_error", error), is_unknown=True)


def _other(words: Words, code: Code, error: ServiceError) -> Finding:
    return Finding("other", code, details=error.details, free=words)
