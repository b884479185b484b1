"""POST /v1/links/{link_id}/explain: the destination of a click, and how the Worker would count the click."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import explain as api
from svc.errors import Conflict, NotFound
from svc.http.serving.visible import visible_link
from svc.store.disabled_objects import check_enabled
from svc.store.links import LINK_DELETED
from svc.store.tx import constant
from svc.worker.explain import Click

if TYPE_CHECKING:
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Write
    from svc.store.idempotency import StoredResponse


class Explain:
    """The handler of /v1/links/{link_id}/explain."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._explainer = deps.context.bundle.explainer
        endpoints.write(api.EXPLAIN, self.explain)

    async def explain(self, write: Write[api.AskedClick]) -> StoredResponse:
        """Return the destination to which the Worker would redirect this click, and how it would be counted."""
        link, account = await visible_link(self._store, write.caller, write.id)
        if link.state == "deleted":
            raise NotFound(LINK_DELETED)
        check_enabled(link)
        if account.link_host is None:
            raise Conflict("link_host_required")
        asked = write.body
        click = Click.from_request(
            asked.country,
            asked.user_agent,
            asked.query,
            asked.method or "GET",
            asked.accept_language,
            at=self._clock() if asked.at is None else asked.at,
            bucket=asked.bucket or 0,
        )
        explanation = self._explainer.explain(link, click, account.link_host.not_found_url)
        return await self._store.run(write.commit(api.ExplainedClick.from_model)(constant(explanation)))
