"""Creates email reports with recipients for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc.ids import new_secret
from svc.store import recipients
from tests.clock import START_MS
from tests.store.makers import a_mailing, a_site, an_account

if TYPE_CHECKING:
    from svc.model import Mailing
    from svc.store.tx import Tx

ANN, BOB = "ann@example.org", "bob@example.org"


def states(mailing: Mailing) -> dict[str, str]:
    """Return the states of the recipients by address."""
    return {one.email: one.state for one in mailing.recipients}


def account_with_site() -> Tx[tuple[str, str]]:
    """Add an account with a site. Return the ids of the account and the site."""
    account_id = yield from an_account()
    return account_id, (yield from a_site(account_id))


def put(account_id: str, target: str, *emails: str, at: int = START_MS, kind: str = "site", **more: Any) -> Tx[Mailing]:
    """Set email reports with these recipients. `kind`: a `MailingTarget`. `more`: see `a_mailing`."""
    return a_mailing(account_id, target, kind, recipients=emails, at=at, **more)


def token_for(mailing: Mailing, email: str) -> Tx[str]:
    """Store a token for a recipient, and return the token's digest."""
    [recipient] = [one for one in mailing.recipients if one.email == email]
    token = new_secret()
    yield from recipients.add_token(recipient.id, token, START_MS)
    return token
