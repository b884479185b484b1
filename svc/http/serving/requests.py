"""The argument that a handler receives: the caller, the request's data, and its query or body."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from svc.api.shape import Body, Query
from svc.http.serving.responses import stored
from svc.model import OWN_ACTIONS, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc.api.endpoint import Endpoint
    from svc.api.shape import ResponseBody
    from svc.http.serving.credentials import Caller
    from svc.http.serving.idempotency import Idempotency
    from svc.model import Account, Action, FormerAccount, Language
    from svc.security.ip_networks import IpAddress
    from svc.store.idempotency import Claim, StoredResponse
    from svc.store.tx import Tx

T = TypeVar("T")
B = TypeVar("B", bound=Body)
Q = TypeVar("Q", bound=Query)


@dataclass(frozen=True)
class RequestInfo:
    """Data about a request, from its head and its connection.

    `client`: the client's IP address (see `credentials.client_address`), or None if unknown. `authorization`: this
    header, or None if absent. `user_agent`, `cookies`, `accept`: these headers, "" if absent. `language`: the language
    that Accept-Language prefers, or None if the header contains no supported language. `headers`: all headers in ASGI
    form.
    """

    method: str
    client: IpAddress | None
    authorization: str | None = field(repr=False)  # hidden because it contains a secret, like `cookies` and `headers`
    user_agent: str
    cookies: str = field(repr=False)
    accept: str
    language: Language | None
    headers: list[tuple[bytes, bytes]] = field(repr=False)


@dataclass(frozen=True)
class Read(Generic[Q]):
    """A read request: its caller, the object's id ("" if the path contains no id), and the query."""

    caller: Caller
    id: str
    query: Q
    request: RequestInfo


@dataclass(frozen=True)
class PublicRead(Generic[Q]):
    """A read request that needs no credential: the ids in its path ("" if the path contains no such id), and the query.

    `part_id`: the second id in the path, which identifies a part of the object with the first id.
    """

    id: str = field(repr=False)  # hidden because it may be a secret
    part_id: str
    query: Q
    request: RequestInfo


@dataclass(frozen=True)
class Form(Generic[B]):
    """A form, which needs no credential. `id`: the id in its path ("" if the path contains no id)."""

    body: B
    request: RequestInfo
    id: str = field(default="", repr=False)  # hidden because it may be a secret


class AccountPart(NamedTuple):
    """A request's changes in one account: the account's id, its id at Cloudflare, and the number of changes."""

    account_id: str
    edge_account_id: str
    changes: int


@dataclass(frozen=True)
class Write(Generic[B]):
    """A write request: its caller, the object's id ("" if the path contains no id), and the body.

    `claim`: identifies repeats of the request. If None, a repeated request is processed again.
    """

    caller: Caller
    id: str
    body: B
    request: RequestInfo
    claim: Claim | None
    _endpoint: Endpoint[Any, Any]
    _idempotency: Idempotency

    def commit(
        self,
        render: Callable[[T], ResponseBody],
        replay: StoredResponse | None = None,
        *,
        about: Account | FormerAccount | None = None,
        target: str | None = None,
        count: Callable[[T], int] | None = None,
        parts: Callable[[T], Sequence[AccountPart]] | None = None,
    ) -> Callable[[Tx[T]], Tx[StoredResponse]]:
        """Return a wrapper that commits the response and the event together with the effect (rules G1 to G5 and X12).

        `render` creates the response from the transaction's value. It must be pure and fast, because it runs inside the
        transaction, on the engine's thread, and possibly while the write lock is held. `replay`: the response to a
        repeated request. By default, this is the first response. `about`: the account in the event. The default is the
        account of the transaction's value. If the value has no account, the event concerns only the user.

        `target`: the id of the object in the event. The default is the id in the path. If the path contains no id, the
        default is the id of the transaction's value.

        `count`: returns the number of changes. The default is 1.

        `parts`: returns the changes in each account. Each of these accounts gets an event; the other arguments about
        the event are then ignored.

        Raises ValueError if the endpoint declares no action, or if the action needs an account but there is none.
        """
        action = self._endpoint.action
        if action is None:
            raise ValueError(f"{self._endpoint.path} declares no action")

        def rendered(value: T) -> StoredResponse:
            return stored(render(value), self._endpoint.status)

        def events(value: T, now: int) -> list[Event]:
            if parts is not None:
                return [self._event(action, now, *part) for part in parts(value)]
            edge_account_id = getattr(about or value, "edge_account_id", None)
            if edge_account_id is None and action not in OWN_ACTIONS:
                raise ValueError(f"{action} needs an account: pass `about`")
            subject = target or self.id or getattr(value, "id", None)
            return [self._event(action, now, subject, edge_account_id, 1 if count is None else count(value))]

        return self._idempotency.committed(self.claim, rendered, replay, None if action == "nothing" else events)

    def _event(self, action: str, now: int, target: str | None, edge_account_id: str | None, count: int) -> Event:
        client = self.request.client
        return Event(
            user_id=self.caller.user.id,
            at=now,
            via="session" if self.caller.key is None else self.caller.key.id,
            ip=None if client is None else str(client),
            action=cast("Action", action),
            target=target,
            outcome="accepted" if self._endpoint.status == HTTPStatus.ACCEPTED else "done",
            edge_account_id=edge_account_id,
            count=count,
        )
