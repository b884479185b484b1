"""/v1/keys: API keys, for the page session only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Conflict, NotFound
from svc.http import wire
from svc.http.bodies import NewKey, Nothing, known_id
from svc.http.credentials import KEY_PREFIX
from svc.http.gate import answer, reply, route
from svc.http.idempotency import refusal
from svc.ids import digest, new_id, new_secret
from svc.model import Key
from svc.store import keys

if TYPE_CHECKING:
    from quart import Response
    from quart_trio import QuartTrio

    from svc.actors.context import Commit
    from svc.http.deps import Deps
    from svc.http.gate import Gate
    from svc.store.tx import Tx

# svc_ and eight characters: enough to tell one's keys apart, 208 bits stay unknown.
_PREFIX_CHARS = len(KEY_PREFIX) + 8


class Keys:
    """The handlers of /v1/keys."""

    def __init__(self, deps: Deps, gate: Gate) -> None:
        self._store = deps.store
        self._clock = deps.clock
        self._limits = deps.config.limits
        self._gate = gate

    def add_routes(self, app: QuartTrio) -> None:
        """Put the handlers under their paths."""
        route(app, "GET", "/v1/keys", self.show_all)
        route(app, "POST", "/v1/keys", self.issue)
        route(app, "DELETE", "/v1/keys/<key_id>", self.revoke)

    async def show_all(self) -> Response:
        """The user's keys."""
        caller = await self._gate.read(session_only=True)
        found = await self._store.read(keys.list_keys(caller.user.id))
        return reply({"keys": [wire.key(key) for key in found]})

    async def issue(self) -> Response:
        """A new key: its value is in this answer and nowhere else; a repeat gets key_already_issued."""
        call = await self._gate.write(NewKey, session_only=True)
        user, body = call.caller.user, call.body
        value = new_secret(KEY_PREFIX)
        key = Key(
            id=new_id("key"),
            user_id=user.id,
            prefix=value[:_PREFIX_CHARS],
            scopes=tuple(dict.fromkeys(body.scopes)),
            allow_accounts=body.allow_accounts,
            allow_ips=body.allow_ips,
            created_at=self._clock(),
            last_used=None,
        )
        limit = self._limits.keys_api if user.plan == "api" else self._limits.keys_free

        async def work(commit: Commit[Key, Key]) -> Key:
            return await self._store.run(commit(keys.add_key(key, digest(value), limit)))

        return await self._gate.once(
            call,
            work,
            lambda issued: answer({**wire.key(issued), "key": value}, 201),
            lambda _: refusal(Conflict("key_already_issued")),
        )

    async def revoke(self, key_id: str) -> Response:
        """The key ends at once."""
        call = await self._gate.write(Nothing, session_only=True)
        known_id("key", key_id)

        async def work(commit: Commit[None, None]) -> None:
            await self._store.run(commit(_delete(call.caller.user.id, key_id)))

        return await self._gate.once(call, work, lambda _: answer({"ok": True}))


def _delete(user_id: int, key_id: str) -> Tx[None]:
    if not (yield from keys.delete_key(user_id, key_id)):
        raise NotFound
