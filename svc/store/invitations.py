"""Transactions on invitations to sign up: pending invitations, and the tokens in their links."""

from __future__ import annotations

from dataclasses import dataclass

from svc.ids import new_id
from svc.store.tx import Row, Tx, sql


@dataclass(frozen=True)
class Invitation:
    """A pending invitation. Times are epoch ms."""

    id: str
    email: str
    created_at: int
    expires_at: int

    def is_for(self, email: str) -> bool:
        """Return True if the invitation is for this email address, ignoring case."""
        return self.email.lower() == email.lower()


def invite(email: str, now: int, expires_at: int) -> Tx[Invitation]:
    """Create an invitation. An earlier invitation for the same address is deleted, and its links stop working."""
    yield from withdraw(email)
    rows = yield sql(
        "insert into invitations (id, email, created_at, expires_at) values ($1, $2, $3, $4) returning *",
        new_id("inv"),
        email,
        now,
        expires_at,
    )
    return _invitation(rows[0])


def add_token(invitation_id: str, digest: str) -> Tx[None]:
    """Store the token of a link to this invitation. The tokens of other links to the invitation stay valid."""
    yield sql("insert into invitation_tokens (digest, invitation_id) values ($1, $2)", digest, invitation_id)


def get_invitation(invitation_id: str, now: int) -> Tx[Invitation | None]:
    """Return the invitation; None if it was used, withdrawn or replaced, or has expired."""
    rows = yield sql("select * from invitations where id = $1 and expires_at > $2", invitation_id, now)
    return _first(rows)


def find_invitation(digest: str, now: int) -> Tx[Invitation | None]:
    """Return the invitation with this token; None if there is no such invitation or it has expired."""
    rows = yield sql(
        "select i.* from invitation_tokens t join invitations i on i.id = t.invitation_id"
        " where t.digest = $1 and i.expires_at > $2",
        digest,
        now,
    )
    return _first(rows)


def use_invitation(invitation_id: str, now: int) -> Tx[Invitation | None]:
    """Use up an invitation and return it.

    Of several concurrent calls, only one gets the invitation; the others get None.
    """
    rows = yield sql("delete from invitations where id = $1 and expires_at > $2 returning *", invitation_id, now)
    return _first(rows)


def withdraw(email: str) -> Tx[Invitation | None]:
    """Delete the invitation for this address and return it; None if there is none."""
    rows = yield sql("delete from invitations where lower(email) = lower(cast($1 as text)) returning *", email)
    return _first(rows)


def pending(now: int, after: Invitation | None, limit: int) -> Tx[list[Invitation]]:
    """Return at most `limit` unexpired invitations in the order of their addresses, starting after `after`."""
    rows = yield sql(
        "select * from invitations where expires_at > $1 and lower(email) > lower(cast($2 as text))"
        " order by lower(email) limit $3",
        now,
        "" if after is None else after.email,
        limit,
    )
    return [_invitation(row) for row in rows]


def _first(rows: list[Row]) -> Invitation | None:
    return _invitation(rows[0]) if rows else None


def _invitation(row: Row) -> Invitation:
    return Invitation(row["id"], row["email"], row["created_at"], row["expires_at"])
