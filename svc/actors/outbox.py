"""The outbox: e-mails about accounts, sent until a mail server takes them.

An e-mail is a row from the moment on when its account's user counts as told, and is deleted once it is sent. A process
killed between the two sends it a second time, under the same Message-ID; none is lost. It is never the account's task
that waits for a mail server.
"""

from __future__ import annotations

import logging
import smtplib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from svc import emails
from svc.clock import DAY_MS
from svc.errors import StoreUnavailable
from svc.faults import contained
from svc.store import notices

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.clock import Clock
    from svc.mail import Mailer
    from svc.store.notices import Waiting
    from svc.store.tx import Store

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 5.0
_BATCH = 100
_FIRST_WAIT_MS = 60_000
_LONGEST_WAIT_MS = 3_600_000
_GIVEN_UP_MS = 3 * DAY_MS


@asynccontextmanager
async def open_outbox(store: Store, mailer: Mailer, clock: Clock, service_url: str) -> AsyncIterator[None]:
    """Send what waits while the block runs. `service_url`: where users look, without a slash at its end."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_keep_sending, store, mailer, clock, service_url)
        yield
        nursery.cancel_scope.cancel()


async def send_due(store: Store, mailer: Mailer, clock: Clock, service_url: str) -> int:
    """Send what is due, each e-mail once. Returns how many were due. Raises StoreUnavailable."""
    found = await store.read(notices.waiting(clock(), _BATCH))
    for each in found:
        # Whole or not at all: a shutdown that comes between would send it again.
        with trio.CancelScope(shield=True):
            await _send(store, mailer, clock(), each, service_url)
    return len(found)


async def _send(store: Store, mailer: Mailer, now: int, each: Waiting, service_url: str) -> None:
    link = f"{service_url}/accounts/{each.account_id}"
    try:
        await mailer.send(emails.about_account(each.id, each.to, each.account_name, each.notice, link))
    except (OSError, smtplib.SMTPException) as error:
        # The error's text may quote the address; its type says what an operator needs.
        log.warning("e-mail not sent", extra={"attempt": each.attempts + 1, "reason": type(error).__name__})
        if now - each.created_at < _GIVEN_UP_MS:
            wait_ms = min(_LONGEST_WAIT_MS, _FIRST_WAIT_MS * 2 ** min(each.attempts, 10))
            await store.run(notices.postpone(each.id, now + wait_ms))
            return
        log.error("e-mail given up; run: svc check")  # noqa: TRY400  # the traceback may quote the address
    await store.run(notices.done(each.id))


async def _keep_sending(store: Store, mailer: Mailer, clock: Clock, service_url: str) -> None:
    while True:
        with contained(log, "outbox failed"):
            try:
                while await send_due(store, mailer, clock, service_url):
                    pass
            except StoreUnavailable:
                pass  # its loss is logged by the store; the next look finds what waits
        await trio.sleep(_LOOK_EVERY_S)
