"""/v1/accounts/{id}/check: run a health check of an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.checks.health_check import count_repaired
from svc.api import health_checks as api
from svc.http.serving.visible import visible_account

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.checks.health_check import Checked
    from svc.api.shape import EmptyBody
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Write
    from svc.store.idempotency import StoredResponse


class HealthChecks:
    """The handler of health checks."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._supervisor = deps.supervisor
        endpoints.write(api.CHECK, self.check)

    async def check(self, write: Write[EmptyBody]) -> StoredResponse:
        """Run a health check of the account at Cloudflare, and repair what can be repaired safely."""
        account = await visible_account(self._store, write.caller, write.id)
        actor = self._supervisor.account(account.edge_account_id)
        return await actor.check(account.id, write.commit(_findings, about=account, count=count_repaired))


def _findings(checked: Sequence[Checked]) -> api.Check:
    return api.Check(
        findings=tuple(
            api.Finding(
                kind=each.finding.kind,
                facts=dict(each.finding.facts),
                thing=each.finding.thing,
                expected=each.finding.expected,
                found=each.finding.found,
                remedy=None if each.repaired else each.finding.remedy,
                remedy_code=None if each.repaired or each.finding.is_repairable else each.finding.code,
                mended=each.repaired,
            )
            for each in checked
        )
    )
