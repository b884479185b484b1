"""/v1/keys: API keys. Only sign-in sessions may use these endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import keys as api
from svc.api.shape import EmptyBody, Ok
from svc.errors import Conflict, NotFound
from svc.http.serving.responses import refusal
from svc.ids import digest, new_id
from svc.model import Key
from svc.security import api_key
from svc.store import keys

if TYPE_CHECKING:
    from svc.api.shape import NoQuery
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.store.idempotency import StoredResponse
    from svc.store.tx import Tx


class Keys:
    """The handlers of /v1/keys."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._limits = deps.context.config.limits
        endpoints.read(api.LIST, self.list)
        endpoints.write(api.ISSUE, self.issue)
        endpoints.write(api.RENAME, self.rename)
        endpoints.write(api.REVOKE, self.revoke)

    async def list(self, read: Read[NoQuery]) -> api.KeyList:
        """Return the user's keys."""
        stored = await self._store.read(keys.list_keys(read.caller.user.id))
        return api.KeyList(keys=tuple(api.Key.model_validate(key) for key in stored))

    async def issue(self, write: Write[api.NewKey]) -> StoredResponse:
        """Issue a key. Only this response contains the key's value; a repeated request gets key_already_issued."""
        user, body = write.caller.user, write.body
        value = api_key.new_api_key()
        key = Key(
            id=new_id("key"),
            user_id=user.id,
            name=body.name,
            prefix=value[: api_key.SHOWN_CHARS],
            scopes=tuple(dict.fromkeys(body.scopes)),
            allow_accounts=body.allow_accounts,
            allow_ips=body.allow_ips,
            created_at=self._clock(),
            last_used=None,
        )

        def render(issued: Key) -> api.IssuedKey:
            return api.IssuedKey.from_model(issued, value)

        commit = write.commit(render, replay=refusal(Conflict("key_already_issued")))
        return await self._store.run(commit(keys.add_key(key, digest(value), self._limits.keys_of(user.plan))))

    async def rename(self, write: Write[api.KeyChange]) -> StoredResponse:
        """Rename a key."""
        renamed = keys.rename_key(write.caller.user.id, write.id, write.body.name)
        return await self._store.run(write.commit(api.Key.model_validate)(renamed))

    async def revoke(self, write: Write[EmptyBody]) -> StoredResponse:
        """Revoke a key. It stops working immediately."""
        return await self._store.run(write.commit(_ok)(_delete(write.caller.user.id, write.id)))


def _ok(_: None) -> Ok:
    return Ok()


def _delete(user_id: int, key_id: str) -> Tx[None]:
    if not (yield from keys.delete_key(user_id, key_id)):
        raise NotFound
