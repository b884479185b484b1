"""Transactions on operations, which are long-running work. Each Cloudflare account has at most one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Conflict, EdgeUnknown
from svc.model import Operation, WorkerPush
from svc.store import automatic_notes
from svc.store.events import by_service
from svc.store.tx import Row, Tx, from_json_as, note_from_json, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.errors import ErrorNote
    from svc.model import Account, AccountAction, OperationKind

# The step of an operation that is only waiting for the Worker's first push.
SELFCHECK = "selfcheck"
# The step of a connect operation whose request has ended, and which is waiting for the user's next attempt.
WAITING = "waiting"
# The step of a self-check that is paused while another operation runs.
PAUSED = "paused"
# The kinds of operations that run in the background: after the response to a request, or without a request.
_FOLLOW_THEIR_ANSWER: tuple[OperationKind, ...] = ("install", "update")
_ACTIONS: Mapping[OperationKind, AccountAction] = {
    "connect": "account.connect",
    "renew": "account.renew",
    "install": "account.install",
    "update": "account.update",
    "disconnect": "account.disconnect",
}


def running(account_id: str) -> Tx[Operation | None]:
    """Return the account's running operation; None if there is none."""
    rows = yield sql("select * from operations where account_id = $1 and state = 'running'", account_id)
    return _operation(rows[0]) if rows else None


def check_turn(edge_account_id: str, kind: OperationKind) -> Tx[None]:
    """Check that a request for an operation of this kind may wait until the actor has finished its current work.

    Raises Conflict operation_in_progress if another operation is being carried out. A disconnect may wait for another
    disconnect, and both get the same result. If the account's user is being deleted, a disconnect may wait for any
    operation.
    """
    rows = yield sql(
        "select o.kind, o.step, u.id as owner, u.email from operations o left join accounts a on a.id = o.account_id"
        " left join users u on u.id = a.user_id where o.edge_account_id = $1 and o.state = 'running'",
        edge_account_id,
    )
    for busy in rows:
        leaving = busy["owner"] is not None and busy["email"] is None
        gives_way = kind == "disconnect" and (busy["kind"] == "disconnect" or leaving)
        if busy["step"] not in (SELFCHECK, WAITING) and not gives_way:
            raise Conflict("operation_in_progress")


def latest(account_id: str) -> Tx[Operation | None]:
    """Return the account's running operation, or else its newest operation; None if it has none."""
    rows = yield sql(
        "select * from operations where account_id = $1"
        " order by case when state = 'running' then 1 else 0 end desc, created_at desc, updated_at desc, id limit 1",
        account_id,
    )
    return _operation(rows[0]) if rows else None


def exists(operation_id: str) -> Tx[bool]:
    """Return True if the store has an operation with this id, for any account."""
    return bool((yield sql("select 1 from operations where id = $1", operation_id)))


def at_rest(account: Account) -> Tx[Operation | None]:
    """Return the account's running operation if it is only waiting; None if no operation is running.

    An operation can wait for the Worker's first push. A connect operation can wait for the user's next attempt. Raises
    Conflict operation_in_progress if an operation is being carried out.
    """
    busy = yield from running(account.id)
    if busy is None or busy.step == SELFCHECK or (busy.kind, account.state) == ("connect", "pending"):
        return busy
    raise Conflict("operation_in_progress")


def with_open_token(account_id: str) -> Tx[list[Operation]]:
    """Return the account's operations that may have left a token at Cloudflare, oldest first."""
    rows = yield sql(
        "select * from operations where account_id = $1 and token_asked_at is not null order by created_at, id",
        account_id,
    )
    return [_operation(row) for row in rows]


def with_open_upload(account_id: str) -> Tx[list[str]]:
    """Return the ids of the account's operations that began an upload but never recorded its response."""
    rows = yield sql("select id from operations where account_id = $1 and open_uploads > 0", account_id)
    return [row["id"] for row in rows]


def count_uploads(operation_id: str, change: int) -> Tx[None]:
    """Record that an upload begins (`change` is 1) or that its response has arrived (`change` is -1)."""
    yield sql("update operations set open_uploads = open_uploads + $2 where id = $1", operation_id, change)


def add(
    operation_id: str, account_id: str, edge_account_id: str, kind: OperationKind, step: str, now: int
) -> Tx[Operation]:
    """Add a running operation. Raises Conflict operation_in_progress if the account has a running operation."""
    rows = yield sql(
        "insert into operations (id, account_id, edge_account_id, kind, state, step, error, attempts, created_at,"
        " updated_at) values ($1, $2, $3, $4, 'running', $5, null, 0, $6, $6)"
        " on conflict (edge_account_id) where state = 'running' do nothing returning *",
        operation_id,
        account_id,
        edge_account_id,
        kind,
        step,
        now,
    )
    if not rows:
        raise Conflict("operation_in_progress")
    return _operation(rows[0])


def set_step(operation_id: str, step: str, now: int) -> Tx[None]:
    """Record that the operation has reached `step`."""
    yield sql("update operations set step = $2, updated_at = $3 where id = $1", operation_id, step, now)


def replace_running(operation: Operation, operation_id: str, now: int) -> Tx[Operation]:
    """Replace a running operation that requested a token, but for which no response was recorded.

    The requested token may exist, or may still appear later. The new operation's token has a different name, so the
    service can distinguish the two tokens.
    """
    # The same request continues with the new operation, so no event for the replaced operation is written to the user's
    # audit log.
    yield from _set_failed(operation.id, EdgeUnknown("No answer arrived, and a new attempt began.").to_note(), now)
    return (yield from add(operation_id, operation.account_id, operation.edge_account_id, operation.kind, "token", now))


def token_asked(operation_id: str, now: int) -> Tx[None]:
    """Record that the service is about to create the working token named after the operation.

    The token may be valid from now on.
    """
    yield sql("update operations set token_asked_at = $2 where id = $1", operation_id, now)


def token_made(operation_id: str, token_id: str) -> Tx[None]:
    """Record the id of the created token."""
    yield sql("update operations set token_id = $2 where id = $1", operation_id, token_id)


def token_settled(operation_id: str) -> Tx[None]:
    """Record that the operation's token is now the account's working token, or no longer exists."""
    yield sql("update operations set token_asked_at = null where id = $1", operation_id)


def tokens_settled(account_id: str) -> Tx[None]:
    """Record, for all ended operations of the account, that their tokens are in use or no longer exist."""
    yield sql(
        "update operations set token_asked_at = null where account_id = $1 and state <> 'running'"
        " and token_asked_at is not null",
        account_id,
    )


def count_attempt(operation_id: str, now: int) -> Tx[None]:
    """Count an attempt that ended with a transient failure."""
    yield sql("update operations set attempts = attempts + 1, updated_at = $2 where id = $1", operation_id, now)


def finish(operation_id: str, now: int) -> Tx[None]:
    """Record that the operation succeeded."""
    rows = yield sql(
        "update operations set state = 'done', updated_at = $2 where id = $1"
        " returning id, account_id, edge_account_id, kind",
        operation_id,
        now,
    )
    yield from _write_end_events(rows, "done", now)


def confirm(reports: Sequence[tuple[str, str]], now: int) -> Tx[None]:
    """End the self-checks of operations whose Workers have pushed.

    `reports`: pairs of operation id and account id. Operations without a self-check are ignored.
    """
    # Every push contains an operation id, so most of these ids do not belong to a running self-check.
    rows = yield sql(
        "select id, account_id from operations where id = any($1) and state = 'running' and step = $2 order by id",
        tuple(sorted({operation_id for operation_id, _ in reports})),
        SELFCHECK,
    )
    for row in rows:
        if (row["id"], row["account_id"]) in set(reports):
            yield from finish(row["id"], now)


def pause_selfcheck(operation_id: str) -> Tx[None]:
    """Pause a self-check so that another operation can run. Its timeout keeps running."""
    yield sql("update operations set state = 'done', step = $2 where id = $1", operation_id, PAUSED)


def resume_selfcheck(account_id: str, now: int) -> Tx[None]:
    """Resume a paused self-check after the operation for which it was paused.

    The self-check succeeds immediately if the Worker has pushed in the meantime.
    """
    rows = yield sql("select push, install_id from accounts where id = $1", account_id)
    push = from_json_as(WorkerPush, rows[0]["push"]) if rows else None
    confirmed = push is not None and push.install == rows[0]["install_id"]
    rows = yield sql(
        "update operations set state = $3, step = $4 where account_id = $1 and step = $2"
        " returning id, account_id, edge_account_id, kind",
        account_id,
        PAUSED,
        "done" if confirmed else "running",
        SELFCHECK,
    )
    if confirmed:
        yield from _write_end_events(rows, "done", now)


def fail(operation_id: str, error: ErrorNote, now: int) -> Tx[None]:
    """Record that the operation failed."""
    yield from _write_end_events((yield from _set_failed(operation_id, error, now)), error.code, now)


def _set_failed(operation_id: str, error: ErrorNote, now: int) -> Tx[list[Row]]:
    return (
        yield sql(
            "update operations set state = 'failed', error = $2, updated_at = $3 where id = $1"
            " returning id, account_id, edge_account_id, kind",
            operation_id,
            to_json(error),
            now,
        )
    )


def _write_end_events(rows: Sequence[Row], outcome: str, now: int) -> Tx[None]:
    """Write an event for each of these ended operations (database rows) to the audit log of the account's user.

    Successful operations that run within a request are skipped, because the request writes its own event. A successful
    update also writes a note for the reports, because a new Worker can count differently.
    """
    for row in rows:
        if outcome == "done" and row["kind"] not in _FOLLOW_THEIR_ANSWER:
            continue
        owners = yield sql("select user_id from accounts where id = $1", row["account_id"])
        for owner in owners:
            if (row["kind"], outcome) == ("update", "done"):
                yield from automatic_notes.worker_updated(row["account_id"], row["id"], now)
            yield by_service(
                owner["user_id"], row["account_id"], row["edge_account_id"], _ACTIONS[row["kind"]], outcome, now
            )


def _operation(row: Row) -> Operation:
    return Operation(
        id=row["id"],
        account_id=row["account_id"],
        edge_account_id=row["edge_account_id"],
        kind=row["kind"],
        state=row["state"],
        step=row["step"],
        error=note_from_json(row["error"]),
        attempts=row["attempts"],
        token_asked_at=row["token_asked_at"],
        token_id=row["token_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
