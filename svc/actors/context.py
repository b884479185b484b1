"""The objects that actors receive: store, Cloudflare client, vault, clock, configuration, Worker bundle, metrics."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from svc.edge.visits import Visitor
from svc.errors import ServiceError
from svc.metrics import Metrics
from svc.store.tx import constant

if TYPE_CHECKING:
    from svc.clock import Clock
    from svc.config import Config
    from svc.edge.access import Access
    from svc.edge.client import Edge
    from svc.model import Account
    from svc.security.vault import Vault
    from svc.store.tx import Store, Tx
    from svc.worker.bundle import WorkerBundle

T = TypeVar("T")
R = TypeVar("R")

# A function that extends a transaction (Tx), for example with statements that store the response to an HTTP request. It
# receives a transaction with a result of type T, and returns an extended transaction with a result of type R. The
# extended transaction is run instead of the original one. Callers that add nothing pass the identity function. The
# function can be called several times, for example if a random code is already taken.
Commit = Callable[["Tx[T]"], "Tx[R]"]

_DELETED_BOOTSTRAPS = 1000


class _NotYet(Exception):
    """Raised in place of the request's changes to the store if the request has no stored response yet."""


def _not_yet() -> Tx[Any]:
    yield from constant(None)
    raise _NotYet


@dataclass(frozen=True)
class Context:
    """The objects that all actors share. Only `deleted_bootstraps` changes."""

    store: Store
    edge: Edge
    vault: Vault
    config: Config
    clock: Clock
    bundle: WorkerBundle
    push_url: str
    metrics: Metrics = field(default_factory=Metrics)
    visitor: Visitor = field(default_factory=Visitor)
    # Ids of recently deleted bootstrap tokens. Queued requests that use one of them are refused.
    deleted_bootstraps: deque[str] = field(default_factory=lambda: deque(maxlen=_DELETED_BOOTSTRAPS), init=False)

    def check_push_url(self) -> None:
        """Check that Workers can push to the configured base URL. Raises ServiceError with the code not_configured."""
        problem = self.config.push_url_problem(self.push_url)
        if problem is not None:
            raise ServiceError("not_configured", f"No Worker can be installed: {problem}.")

    async def stored_response(self, commit: Commit[Any, R]) -> R | None:
        """Return the stored response if this request repeats an earlier one, otherwise None.

        Call this before the request's calls to Cloudflare, so that a repeated request does not repeat these calls.
        """
        try:
            return await self.store.read(commit(_not_yet()))
        except _NotYet:
            return None

    def access(self, account: Account) -> Access:
        """Return an object for calls to the Cloudflare API with the account's working token.

        For a while, some of Cloudflare's servers may refuse a new token. Until the Worker is installed, and shortly
        after an install or a renewal, refused calls are therefore retried for longer (`Access.settling`).

        Raises ServiceError with the code credentials_missing or credentials_unreadable.
        """
        if account.sealed_token is None:
            raise ServiceError("credentials_missing", "The account's working token is missing.")
        token = self.vault.open(account.sealed_token, account.id)
        age_s = 0.0
        if account.installed_at is not None:
            age_s = (self.clock() - max(account.installed_at, account.token_made_at or 0)) / 1000
        return self.edge.access(account.edge_account_id, token, account.user_id).settling(
            self.config.edge.settling_s - age_s
        )
