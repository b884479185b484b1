"""What a look at an account finds: each difference between what should be at the platform and what is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.errors import CATALOGUE, EdgeRefused, ErrorNote

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.errors import Code, ServiceError
    from svc.model import FindingKind
    from svc.store.tx import Tx

# Brings back what is missing. Raises EdgeRefused: only a person can; EdgeUnavailable: the next look tries again.
Mend = Callable[[], Awaitable[None]]

TOKEN = "the working token"  # noqa: S105  # its name for people


@dataclass(frozen=True)
class Finding:
    """`thing` should be as `expected` says; it `found`, a verb with what belongs to it: "was deleted …".

    `kind` and the `facts` of the words say the same to programs. `code` is the entry of the catalogue that says what a
    person does about it. `mend`: what mends it without anybody; None: a person has to. `details` are those of the
    platform's refusal.
    """

    thing: str
    expected: str
    found: str
    code: Code
    mend: Mend | None = field(default=None, repr=False, compare=False)
    details: dict[str, object] | None = field(default=None, compare=False)
    kind: FindingKind = field(default="other", kw_only=True, compare=False)
    facts: Mapping[str, str] = field(default_factory=dict, kw_only=True, compare=False)

    @property
    def mends_itself(self) -> bool:
        """Whether the service mends it without a question."""
        return self.mend is not None

    @property
    def remedy(self) -> str:
        """What a person does about it."""
        if self.mends_itself:
            return "Nothing: the service mends it by itself."
        return CATALOGUE[self.code].remedy or CATALOGUE[self.code].message

    def note(self) -> ErrorNote:
        """How the account shows it."""
        return ErrorNote(self.code, f"{self.thing[0].upper()}{self.thing[1:]} {self.found}.", self.details)


def by(context: Context, effect: Callable[[], Tx[object]]) -> Mend:
    """What mends by a transaction; the account's duties do the rest."""

    async def mend() -> None:
        await context.store.run(effect())

    return mend


def refused(thing: str, expected: str, error: ServiceError, right: str = "") -> Finding:
    """The finding that a refused call is. `right`: which one of the working token the call needs."""
    text = error.message.removesuffix(".")
    if isinstance(error, EdgeRefused) and error.code == "permission_error" and right:
        found = f"lacks the right {right}, or not all of its resources: {text}"
        about = {"right": right, "said": error.message}
        return Finding(
            TOKEN, f"has the right {right}", found, error.code, details=error.details, kind="right_missing", facts=about
        )
    if error.code in ("token_refused", "revoked"):
        return Finding(TOKEN, "is accepted", f"is refused: {text}", error.code, details=error.details)
    return Finding(thing, expected, f"cannot be looked at: {text}", error.code, details=error.details)


def unknown(thing: str, expected: str, error: ServiceError) -> Finding:
    """The finding that the platform does not tell now."""
    text = error.message.removesuffix(".")
    return Finding(thing, expected, f"cannot be looked at now: {text}", "cloudflare_error", details=error.details)
