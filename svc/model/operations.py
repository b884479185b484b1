"""Operations that an account's actor runs, such as a connect operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from svc.errors import ErrorNote

OperationKind = Literal["connect", "renew", "install", "update", "disconnect"]
OperationState = Literal["running", "done", "failed"]


@dataclass(frozen=True)
class Operation:
    """A long-running operation on an account, stored so that the next process can resume it after a crash."""

    id: str
    account_id: str
    edge_account_id: str
    kind: OperationKind
    state: OperationState
    step: str
    error: ErrorNote | None
    attempts: int
    # The time at which the operation requested a working token. Set while the token may be valid and the account does
    # not use it.
    token_asked_at: int | None
    token_id: str | None  # the id of that token, if Cloudflare's response arrived
    created_at: int
    updated_at: int

    @property
    def token_name(self) -> str:
        """The name of the working token that the operation creates."""
        return f"svc-{self.id}"
