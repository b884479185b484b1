"""The argument that a handler gets: a request's facts, who sends it, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from svc.api.shape import Body, Query
from svc.http.serving.answers import stored
from svc.model import OWN_ACTIONS, Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.api.endpoint import Endpoint
    from svc.api.shape import Answer
    from svc.http.serving.credentials import Caller, IpAddress
    from svc.http.serving.idempotency import Idempotency
    from svc.model import Account, Action, FormerAccount
    from svc.store.idempotency import Claim, StoredAnswer
    from svc.store.tx import Tx

T = TypeVar("T")
B = TypeVar("B", bound=Body)
Q = TypeVar("Q", bound=Query)


@dataclass(frozen=True)
class RequestInfo:
    """The facts of a request, as its head and its connection give them.

    `client`: the address of the client, behind trusted proxies too; None: unknown. `authorization`: the header; None:
    absent. `user_agent`, `cookies`, `accept`: the headers; "": absent. `headers`: all of them, as ASGI has them.
    """

    method: str
    client: IpAddress | None
    authorization: str | None = field(repr=False)  # holds a secret, as cookies and headers do
    user_agent: str
    cookies: str = field(repr=False)
    accept: str
    headers: list[tuple[bytes, bytes]] = field(repr=False)


@dataclass(frozen=True)
class Read(Generic[Q]):
    """A request that reads: its caller, the object's id ("" where the path names none), and the query."""

    caller: Caller
    id: str
    query: Q
    request: RequestInfo


@dataclass(frozen=True)
class Form(Generic[B]):
    """A form of /auth, which needs no credential."""

    body: B
    request: RequestInfo


@dataclass(frozen=True)
class Write(Generic[B]):
    """A request that changes something: its caller, the object's id ("" where the path names none), and the body.

    `claim`: the identity of the request, by which a repeat is recognized; None: a repeat runs again.
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
        render: Callable[[T], Answer],
        replay: StoredAnswer | None = None,
        *,
        about: Account | FormerAccount | None = None,
        target: str | None = None,
        count: Callable[[T], int] | None = None,
    ) -> Callable[[Tx[T]], Tx[StoredAnswer]]:
        """Wrap the transaction of the effect, so that the answer (rules G1 to G5) and the entry in the user's events
        (rule X12) commit with it.

        `render` makes the answer of the transaction's value. It runs inside the transaction, on the engine's thread
        and maybe with the write lock held: pure and quick. `replay`: the answer to a repeat, if another one.
        `about`: the account that the event is about; by default the value's, or the user alone. `target`: the id of
        the object; by default the path's, or the value's. `count`: the number of changes, if not one.
        Raises ValueError: the endpoint's action is about an account, and none is named.
        """
        action = self._endpoint.action
        if action is None:
            raise ValueError(f"{self._endpoint.path} declares no action")

        def rendered(value: T) -> StoredAnswer:
            return stored(render(value), self._endpoint.status)

        def event(value: T, now: int) -> Event:
            edge_account_id = getattr(about or value, "edge_account_id", None)
            if edge_account_id is None and action not in OWN_ACTIONS:
                raise ValueError(f"{action} is about an account: name it")
            client = self.request.client
            return Event(
                user_id=self.caller.user.id,
                at=now,
                via="session" if self.caller.key is None else self.caller.key.id,
                ip=None if client is None else str(client),
                action=cast("Action", action),
                target=target or self.id or getattr(value, "id", None),
                outcome="accepted" if self._endpoint.status == HTTPStatus.ACCEPTED else "done",
                edge_account_id=edge_account_id,
                count=1 if count is None else count(value),
            )

        return self._idempotency.committed(self.claim, rendered, replay, None if action == "nothing" else event)
