"""/v1/me: the caller, the user's limits and usage, and the deletion of the user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc.api import me as api
from svc.errors import Unauthorized
from svc.http.serving.cookies import SIGNED_OUT
from svc.http.serving.credentials import bearer
from svc.http.serving.responses import stored
from svc.ids import digest
from svc.store import accounts, keys, links, notifications, sites, user_limits, users
from svc.store.tx import UNCHANGED

if TYPE_CHECKING:
    from svc.api.shape import NoQuery
    from svc.config import LimitsConfig
    from svc.http.resources.password_check import PasswordCheck
    from svc.http.serving.credentials import Caller
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.model import LimitedKind, User
    from svc.store.idempotency import StoredResponse
    from svc.store.tx import Tx

    # The numbers of the user's objects and their limits, by kind.
    _Counts = tuple[api.Use, dict[LimitedKind, int]]


class Me:
    """The handlers of /v1/me."""

    def __init__(self, deps: Deps, endpoints: Endpoints, passwords: PasswordCheck) -> None:
        self._store = deps.context.store
        self._limits = deps.context.config.limits
        self._supervisor = deps.supervisor
        self._passwords = passwords
        endpoints.read(api.SHOW, self.show)
        endpoints.write(api.CHANGE, self.change)
        endpoints.write(api.LEAVE, self.leave)
        endpoints.read(api.ADDRESS, self.address)

    async def show(self, read: Read[NoQuery]) -> api.Caller:
        """Return the caller's user, plan, limits, usage and kind of credential."""
        user = read.caller.user
        return self._shown(read.caller, user, await self._store.read(_counts(user, self._limits)))

    async def address(self, read: Read[NoQuery]) -> api.OwnAddress:
        """Return the IP address from which the request came."""
        return api.OwnAddress.from_client(read.request.client)

    async def change(self, write: Write[api.ChangeMe]) -> StoredResponse:
        """Change the user's settings.

        Only sign-in sessions may do this, because the settings are personal choices.
        """

        def render(found: tuple[User, _Counts]) -> api.Caller:
            return self._shown(write.caller, *found)

        return await self._store.run(write.commit(render)(_change(write.caller.user.id, write.body, self._limits)))

    async def leave(self, write: Write[api.Leave]) -> StoredResponse:
        """Delete the user after checking the password. The deletion continues even if the client disconnects."""
        verified = await self._passwords.check(write.caller.user, write.body.password, write.request.client)
        session = digest(bearer(write.request.authorization))
        user_deletions = self._supervisor.user_deletions
        result = await user_deletions.leave(write.caller.user.id, verified, session, write.request.language)
        response = stored(api.Left.from_model(result), api.LEAVE.status)
        return replace(response, headers=SIGNED_OUT)

    def _shown(self, caller: Caller, user: User, counts: _Counts) -> api.Caller:
        use, limits = counts
        return api.Caller(
            user=api.User.model_validate(user),
            plan=user.plan,
            limits=api.Limits(
                **limits,
                requests_per_minute=self._limits.requests_per_minute,
                report_reads_per_minute=self._limits.report_reads_per_minute,
            ),
            use=use,
            via="session" if caller.key is None else "key",
        )


def _change(user_id: int, change: api.ChangeMe, limits: LimitsConfig) -> Tx[tuple[User, _Counts]]:
    changed = False
    if change.notify is not None:
        changed = yield from notifications.set_notify(user_id, notify=change.notify)
    if change.sets_language:
        changed |= yield from notifications.set_language(user_id, change.language)
    if not changed:
        yield UNCHANGED
    user = yield from users.get_user(user_id)
    if user is None:
        raise Unauthorized
    return user, (yield from _counts(user, limits))


def _counts(user: User, limits: LimitsConfig) -> Tx[_Counts]:
    use = yield from _use(user.id)
    return use, (yield from user_limits.limits_of(user.id, user.plan, limits))


def _use(user_id: int) -> Tx[api.Use]:
    return api.Use(
        accounts=len((yield from accounts.list_accounts(user_id))),
        sites=(yield from sites.count_sites(user_id)),
        links=(yield from links.count_links(user_id)),
        keys=len((yield from keys.list_keys(user_id))),
    )
