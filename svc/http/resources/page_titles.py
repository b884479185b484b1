"""POST /v1/links/title: propose a title for a link."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from svc.actors.requests import page_titles
from svc.api import page_titles as api
from svc.api.fields import HttpsUrl
from svc.errors import ServiceError
from svc.limits import SlidingLimit
from svc.store.tx import constant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Write
    from svc.store.idempotency import StoredResponse

PER_MINUTE = 30
# The maximum number of concurrent requests of one user. More requests could keep other users waiting.
AT_ONCE = 2
_URL: TypeAdapter[str] = TypeAdapter(HttpsUrl)


class PageTitles:
    """The handler of /v1/links/title, and its limits for each user."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._titles = page_titles.PageTitles(deps.context.visitor, _URL.validate_python)
        self._limit = SlidingLimit(PER_MINUTE)
        self._running: Counter[int] = Counter()  # requests by user
        endpoints.write(api.PROPOSE, self.propose)

    async def propose(self, write: Write[api.TitleRequest]) -> StoredResponse:
        """Return the title of a page. Raises ServiceError (code rate_limited) if the user requests too many titles."""
        with self._running_for(write.caller.user.id):
            title = await self._read(write)
        return await self._store.run(write.commit(_proposed)(constant(title)))

    @contextmanager
    def _running_for(self, user_id: int) -> Iterator[None]:
        """Count a request of the user as running until the block ends. Raises ServiceError (code rate_limited)."""
        if self._running[user_id] >= AT_ONCE:
            text = f"A user can request {AT_ONCE} titles at the same time; Retry-After gives the time to wait."
            raise ServiceError("rate_limited", text, retry_after_s=int(page_titles.LONGEST_S))
        self._running[user_id] += 1
        try:
            yield
        finally:
            self._running[user_id] -= 1
            if not self._running[user_id]:
                del self._running[user_id]

    async def _read(self, write: Write[api.TitleRequest]) -> str | None:
        verdict = self._limit.count(str(write.caller.user.id), self._clock())
        if not verdict.allowed:
            text = f"A user can request {PER_MINUTE} titles per minute; Retry-After gives the time to wait."
            raise ServiceError("rate_limited", text, retry_after_s=verdict.reset_s)
        return await self._titles.read(write.body.url)


def _proposed(title: str | None) -> api.ProposedTitle:
    return api.ProposedTitle(title=title)
