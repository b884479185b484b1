"""Findings of a health check: differences between the expected and the actual state at the platform."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc import finding
from svc.errors import CATALOGUE, EdgeRefused, ErrorNote
from svc.finding import THINGS, WORDS, Words
from svc.worker.bundle import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.errors import Code, ServiceError
    from svc.finding import FindingKind, Subject, Variant
    from svc.store.tx import Tx

# Brings back what is missing. Raises EdgeRefused: only a person can; EdgeUnavailable: the next check tries again.
Repair = Callable[[], Awaitable[None]]
# The identity of what a finding is about: the subject, and the facts that say which one.
About = tuple[str, ...]

_NAMES = {"worker": SCRIPT_NAME, "database": DATABASE_NAME}
TO_WORKER = finding.TO_WORKER.format_map(_NAMES)


@dataclass(frozen=True)
class Finding:
    """A difference: `kind` and `facts`, from which the words come (`svc.finding`).

    `code`: the entry of the catalogue that says what a person does about it. `repair`: the automatic repair; None: only
    a person can repair it. `details`: those of the platform's refusal. `variant`: the form of the words. `free`: the
    words of the kind `other`, which are no templates. `refusal`: why the repair was refused.
    """

    kind: FindingKind
    code: Code
    facts: Mapping[str, str] = field(default_factory=dict)
    repair: Repair | None = field(default=None, repr=False, compare=False)
    details: dict[str, object] | None = field(default=None, compare=False)
    variant: Variant = field(default="", kw_only=True)
    free: Words | None = field(default=None, kw_only=True)
    refusal: str = field(default="", kw_only=True)

    @property
    def subject(self) -> Subject:
        """The sort of thing that it is about."""
        return (self.free or WORDS[self.kind]).subject

    @property
    def about(self) -> About:
        """The thing that it is about: the same for all findings of one thing."""
        names = sorted(finding.names_in(THINGS[self.subject]))
        return (self.subject, *(self.facts[name] for name in names))

    @property
    def thing(self) -> str:
        """The thing that it is about, in words."""
        return self._filled(THINGS[self.subject])

    @property
    def expected(self) -> str:
        """The expected state, as a verb phrase."""
        return self.free.expected if self.free else self._filled(WORDS[self.kind].expected)

    @property
    def found(self) -> str:
        """The actual state, as a verb phrase."""
        if self.free:
            found = self.free.found
        else:
            words = WORDS[self.kind]
            found = self._filled(words.variants[self.variant] if self.variant else words.found)
        return f"{found}; mending it was refused: {self.refusal}" if self.refusal else found

    @property
    def is_repairable(self) -> bool:
        """True if the service repairs it automatically."""
        return self.repair is not None

    @property
    def remedy(self) -> str:
        """The instruction for a person."""
        if self.is_repairable:
            return "Nothing: the service mends it by itself."
        return CATALOGUE[self.code].remedy or CATALOGUE[self.code].message

    def note(self) -> ErrorNote:
        """The note by which the account shows it."""
        return ErrorNote(self.code, f"{self.thing[0].upper()}{self.thing[1:]} {self.found}.", self.details)

    def _filled(self, template: str) -> str:
        # What the platform said is a sentence; inside another one it loses its full stop.
        said = {"said": self.facts["said"].removesuffix(".")} if "said" in self.facts else {}
        return template.format_map({**self.facts, **said, **_NAMES})


def by(context: Context, effect: Callable[[], Tx[object]]) -> Repair:
    """A repair by a transaction; the account's duties do the rest."""

    async def repair() -> None:
        await context.store.run(effect())

    return repair


def refused(subject: Subject, expected: str, error: ServiceError, right: str = "") -> Finding:
    """The finding of a refused call. `right`: which one of the working token the call needs."""
    if isinstance(error, EdgeRefused) and error.code == "permission_error" and right:
        return Finding("right_missing", error.code, {"right": right, "said": error.message}, details=error.details)
    text = error.message.removesuffix(".")
    if error.code in ("token_refused", "revoked"):
        return _other(Words("token", "is accepted", f"is refused: {text}"), error.code, error)
    return _other(Words(subject, expected, f"cannot be looked at: {text}"), error.code, error)


def unknown(subject: Subject, expected: str, error: ServiceError) -> Finding:
    """The finding of a call that the platform does not answer now."""
    text = error.message.removesuffix(".")
    return _other(Words(subject, expected, f"cannot be looked at now: {text}"), "cloudflare_error", error)


def _other(words: Words, code: Code, error: ServiceError) -> Finding:
    return Finding("other", code, details=error.details, free=words)
