"""What every actor is given: the rooms below it, the clock, the configuration, the worker to install, the metrics."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from svc.errors import ServiceError
from svc.metrics import Metrics
from svc.store.tx import given

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

# Put around the transaction of an effect (Tx[T]), it gives the transaction that is run, whose value (R) is what the
# caller gets: so the answer to a request is kept with the effect or not at all. Who keeps none passes the identity.
# It is called again for each try of an effect, e.g. with another random code.
Commit = Callable[["Tx[T]"], "Tx[R]"]

_DELETED_BOOTSTRAPS = 1000


class _NotYet(Exception):
    """The effect would have to be made."""


def _not_yet() -> Tx[Any]:
    yield from given(None)
    raise _NotYet


@dataclass(frozen=True)
class Context:
    """Shared by all actors; but for `deleted_bootstraps` nothing in it changes."""

    store: Store
    edge: Edge
    vault: Vault
    config: Config
    clock: Clock
    bundle: WorkerBundle
    push_url: str
    metrics: Metrics = field(default_factory=Metrics)
    # The platform's ids of the last bootstrap tokens that were deleted: for the requests with them that wait meanwhile.
    deleted_bootstraps: deque[str] = field(default_factory=lambda: deque(maxlen=_DELETED_BOOTSTRAPS), init=False)

    def check_push_url(self) -> None:
        """Whether a worker that is installed could reach the service. Raises ServiceError not_configured."""
        trouble = self.config.push_trouble(self.push_url)
        if trouble is not None:
            raise ServiceError("not_configured", f"No worker can be installed: {trouble}.")

    async def answered(self, commit: Commit[Any, R]) -> R | None:
        """The answer to an identical request, whose client hung up before it was there; None: there is none yet.

        For work that does something at the platform before the transaction of its effect, which looks itself.
        """
        try:
            return await self.store.read(commit(_not_yet()))
        except _NotYet:
            return None

    def access(self, account: Account) -> Access:
        """The edge account with its working token, which is new while the worker is not, or was just, installed, and
        after a renewal.

        Raises ServiceError: credentials_missing, credentials_unreadable.
        """
        if account.sealed_token is None:
            raise ServiceError("credentials_missing", "The account has no working token.")
        token = self.vault.open(account.sealed_token, account.id)
        age_s = 0.0
        if account.installed_at is not None:
            age_s = (self.clock() - max(account.installed_at, account.token_made_at or 0)) / 1000
        return self.edge.access(account.edge_account_id, token, account.user_id).settling(
            self.config.edge.settling_s - age_s
        )
