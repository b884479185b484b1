"""Sends the emails in the outbox table.

A transaction that causes an email adds a row to the table (`store/outbox.py`), and its commit wakes the outbox. Several
senders, each with its own connection, send the emails for the rows that are due. A failed email is retried with
increasing delays. While the mail server is unavailable, nothing is sent. Once an email has been sent, its row is
deleted. If the process is killed before it deletes the row, the email is sent again with the same Message-ID. Retries
end when the email expires or is no longer needed, when the server permanently refuses the address, or after two
attempts with an unknown outcome.
"""

from __future__ import annotations

import logging
import random
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import trio

from svc.errors import StoreUnavailable
from svc.faults import contained
from svc.identity.operator import DEFAULT_IDENTITY
from svc.ids import new_secret
from svc.mail.compose import Draft, Terms, compose
from svc.mail.smtp import AddressRefused, NotAccepted, OutcomeUnknown, ServerUnavailable
from svc.mail.transport import new_sender
from svc.metrics import MAIL_AWAY, MAIL_EXPIRED, MAIL_TRIES, Metrics
from svc.store import notifications, outbox, recipients

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.clock import Clock
    from svc.config import Config, MailConfig
    from svc.identity.operator import Identity
    from svc.mail.compose import Composed
    from svc.mail.smtp import MailError, Patience
    from svc.mail.transport import Sender
    from svc.model import User
    from svc.store.outbox import Waiting
    from svc.store.tx import Store, Tx

log = logging.getLogger(__name__)

# The time between two polls. A new email wakes the outbox immediately, and polling finds emails that are due for a
# retry.
_POLL_EVERY_S = 5.0
_BATCH = 100
# The number of concurrent senders. There are several, so that one slow email does not delay the others. The number is
# low, because some servers accept only this many connections.
_SENDERS = 4
# The time after which an idle connection is closed.
_IDLE_S = 5.0
# The delay before an email is retried. The delay doubles with each retry, and varies randomly by a quarter, so that
# retries are spread out.
_FIRST_WAIT_MS = 60_000
_LONGEST_WAIT_MS = 3_600_000
# The delay before the service tries an unavailable mail server again. The delay doubles with each failure.
_FIRST_AWAY_MS = 5_000
_LONGEST_AWAY_MS = 300_000
# The maximum number of attempts with an unknown outcome. The server may have accepted the email each time.
_MAX_COPIES = 2
# How long the service waits at shutdown for emails that are being sent. After the next start, it sends interrupted
# emails again.
_DRAIN_S = 5.0
_CLOSE_S = 1.0


class Outbox:
    """Sends the emails that are due. Use `open_outbox` to create an outbox."""

    def __init__(
        self,
        store: Store,
        config: MailConfig,
        clock: Clock,
        terms: Terms,
        patience: Patience | None,
        metrics: Metrics,
        identity: Identity,
    ) -> None:
        self._identity = identity
        self._metrics = metrics
        self._store = store
        self._mail = config
        self._clock = clock
        self._terms = terms
        self._patience = patience
        self._under_way: set[str] = set()
        self._sent: set[str] = set()  # ids of sent emails whose rows could not be deleted yet
        self._accepted_domains: set[str] = set()  # all senders share this set
        self._slow: dict[str, int] = {}  # the time (epoch ms) until which each slow domain is skipped
        self._away_until = 0
        self._away_ms = 0
        self._wakes = 0  # number of calls to `wake`
        self._settled = 0  # the value of `_wakes` before the last check that found no due emails
        self._stopping = False
        self._wake = trio.Event()
        self._progress = trio.Event()

    def wake(self) -> None:
        """Make `run` check for due emails immediately."""
        self._wakes += 1
        self._wake.set()

    async def settled(self) -> None:
        """Wait until an attempt was made to send each email that is due now."""
        self.wake()
        target = self._wakes
        while self._settled < target:
            await self._progress.wait()

    async def drain(self) -> None:
        """Start no more deliveries, and wait for the emails that are being sent."""
        self._stopping = True
        while self._under_way:
            await self._progress.wait()

    async def run(self) -> None:
        """Send due emails until cancelled."""
        to_senders, from_outbox = trio.open_memory_channel["Waiting"](0)
        async with trio.open_nursery() as nursery:
            for _ in range(_SENDERS):
                nursery.start_soon(self._run_sender, from_outbox)
            while True:
                # The store has logged its failure, and the next poll finds the emails that are still queued.
                with contained(log, "outbox failed"), suppress(StoreUnavailable):
                    await self._dispatch(to_senders)
                with trio.move_on_after(_POLL_EVERY_S):
                    await self._wake.wait()
                self._wake = trio.Event()

    async def _dispatch(self, to_senders: trio.MemorySendChannel[Waiting]) -> None:
        """Delete expired emails, and pass due emails to the senders until none remain."""
        wakes = self._wakes
        expired: list[int] = []
        while deleted := await self._store.run(outbox.give_up(self._clock())):
            expired += deleted
        if expired:
            self._metrics.count(MAIL_EXPIRED, by=len(expired))
            self._log_expired(expired.count(0), len(expired) - expired.count(0))
        in_progress = frozenset(self._under_way)
        while not self._away():
            # A sender may finish during the read. The result of the read may then include an email that was already
            # sent.
            in_progress = frozenset(self._under_way)
            due = await self._store.read(outbox.due(self._clock(), _BATCH))
            waiting = [row for row in due if row.id not in in_progress]
            for row in waiting:
                self._under_way.add(row.id)
                await to_senders.send(row)
            if not waiting:
                break
        # If a sender finished during the read, the next email about the same account may be due. In that case, the
        # sender calls `wake`.
        if not in_progress and not self._under_way:
            self._settled = wakes
            self._notify_progress()

    def _log_expired(self, untried: int, tried: int) -> None:
        """Log how many emails expired without an attempt, and how many after the mail server did not accept them."""
        if untried:
            log.error("emails expired before delivery; run: svc check", extra={"count": untried})
        if tried:
            log.warning("emails expired after failed attempts", extra={"count": tried})

    async def _run_sender(self, from_outbox: trio.MemoryReceiveChannel[Waiting]) -> None:
        """Send emails one at a time. Close the connection when it is idle."""
        sender = new_sender(self._mail, self._patience, self._identity, self._accepted_domains)
        try:
            while True:
                row = None
                with trio.move_on_after(_IDLE_S):
                    row = await from_outbox.receive()
                if row is None:
                    await sender.rest()
                    row = await from_outbox.receive()
                try:
                    await self._try(row, sender)
                finally:
                    self._under_way.discard(row.id)
                    self._notify_progress()
                    self.wake()
        finally:
            with trio.move_on_after(_CLOSE_S, shield=True):
                await sender.rest()

    async def _try(self, row: Waiting, sender: Sender) -> None:
        """Send one email. Log and record all errors, so that the sender continues."""
        if self._stopping or self._away():
            return
        with suppress(StoreUnavailable):
            with contained(log, "email failed", id=row.id) as border, suppress(StoreUnavailable):
                await self._send(row, sender)
            if border.failed:
                await self._store.run(
                    outbox.failed(row.id, self._again_at(row.attempts), "internal error; see the log")
                )

    async def _send(self, row: Waiting, sender: Sender) -> None:
        now, domain = self._clock(), row.address.rpartition("@")[2]
        if row.id in self._sent:
            await self._record_sent(row.id, None)
        elif now < self._slow.get(domain, 0):
            await self._store.run(outbox.postpone(row.id, self._slow[domain]))
        else:
            again_at = self._again_at(row.attempts)
            try:
                await sender.connect()
                draft = Draft(self._terms, new_secret("svm_"), now)
                composed = await self._store.run(compose(row.id, draft, again_at))
                if composed is not None:
                    await self._hand_over(row, composed, sender, again_at)
            except ServerUnavailable as error:
                self._server_is_away(error)

    async def _hand_over(self, row: Waiting, composed: Composed, sender: Sender, again_at: int) -> None:
        """Send a composed email and record the outcome.

        Raises ServerUnavailable if the mail server accepts no emails now.
        """
        user, now = composed.user, self._clock()
        try:
            await sender.send(composed.email)
        except ServerUnavailable:
            await self._store.run(outbox.retry_uncounted(row.id, now))
            raise
        except AddressRefused as error:
            log.warning("email address refused", extra=self._failure("refused", row, error))
            await self._store.run(_mark_refused(row.id, composed, now))
        except NotAccepted as error:
            log.warning("email not accepted", extra=self._failure("retried", row, error))
            if error.slow:
                await self._skip_domain(row.address.rpartition("@")[2], again_at)
            await self._store.run(outbox.failed(row.id, again_at, str(error)))
        except OutcomeUnknown as error:
            last = row.unsure + 1 >= _MAX_COPIES
            log.warning("email outcome unknown", extra=self._failure("unsure" if last else "retried", row, error))
            if last:
                await self._store.run(outbox.done(row.id))
            else:
                await self._store.run(outbox.failed(row.id, again_at, str(error), unsure=True))
        else:
            self._metrics.count(MAIL_TRIES, "sent" if composed.email.send else "no_user")
            self._sent.add(row.id)
            await self._record_sent(row.id, user)
        self._server_is_there()

    async def _record_sent(self, mail_id: str, user: User | None) -> None:
        """Delete a sent email's row.

        If the store is unavailable, a later poll deletes the row without sending the email again.
        """
        await self._store.run(_mark_sent(mail_id, user.id if user is not None and user.email_refused_at else None))
        self._sent.discard(mail_id)

    async def _skip_domain(self, domain: str, until: int) -> None:
        """Postpone all emails to a slow domain.

        Otherwise, a relay that verifies each address with the recipient's domain would delay emails to other domains.
        """
        now = self._clock()
        self._slow = {name: at for name, at in self._slow.items() if at > now} | {domain: until}
        await self._store.run(outbox.postpone_domain(domain, now, until))

    def _failure(self, outcome: str, row: Waiting, error: MailError) -> dict[str, object]:
        """Count a failed attempt and return the fields of its log event."""
        self._metrics.count(MAIL_TRIES, outcome)
        return {"id": row.id, "kind": row.kind, "attempt": row.attempts + 1, "error": str(error)}

    def _away(self) -> bool:
        # If the clock was set back, `_away_until` may be far in the future. It is then ignored.
        return self._clock() < self._away_until <= self._clock() + 2 * _LONGEST_AWAY_MS

    def _server_is_away(self, error: ServerUnavailable) -> None:
        if not self._away():  # if several senders fail at the same time, only the first failure counts
            self._away_ms = min(_LONGEST_AWAY_MS, max(_FIRST_AWAY_MS, 2 * self._away_ms))
            self._away_until = self._clock() + _about(self._away_ms)
            self._metrics.count(MAIL_AWAY)
            log.warning("mail server unavailable", extra={"error": str(error), "again_s": self._away_ms / 1000})

    def _server_is_there(self) -> None:
        if self._away_ms:
            log.info("mail server available again")
        self._away_ms = self._away_until = 0

    def _again_at(self, attempts: int) -> int:
        """Return the time, in epoch ms, of the next retry for an email that has had this many attempts."""
        return self._clock() + _about(min(_LONGEST_WAIT_MS, _FIRST_WAIT_MS * 2 ** min(attempts, 10)))

    def _notify_progress(self) -> None:
        self._progress.set()
        self._progress = trio.Event()


@asynccontextmanager
async def open_outbox(
    store: Store,
    config: Config,
    clock: Clock,
    service_url: str,
    patience: Patience | None = None,
    metrics: Metrics | None = None,
    identity: Identity = DEFAULT_IDENTITY,
) -> AsyncIterator[Outbox]:
    """Send emails while the block runs. At exit, emails that are being sent have a few seconds to finish.

    `service_url`: the public URL without a trailing slash. `patience`: timeouts for the mail server. `metrics`: counts
    the attempts, if given. `identity`: the operator's identity, which the emails show.
    """
    terms = Terms(service_url, config.timing.mail_token_s, identity.name)
    box = Outbox(store, config.mail, clock, terms, patience, metrics or Metrics(), identity)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(box.run)
        with store.changes.on_email_posted(box.wake):
            yield box
        with trio.move_on_after(_DRAIN_S):
            await box.drain()
        nursery.cancel_scope.cancel()


def _mark_sent(mail_id: str, reached_user_id: int | None) -> Tx[None]:
    yield from outbox.done(mail_id)
    if reached_user_id is not None:
        yield from notifications.address_works(reached_user_id)


def _mark_refused(mail_id: str, composed: Composed, now: int) -> Tx[None]:
    if composed.user is not None:
        yield from notifications.address_refused(composed.user.id, now)
    if composed.recipient_id is not None:
        yield from recipients.mark_refused(composed.recipient_id)
    yield from outbox.done(mail_id)


def _about(wait_ms: int) -> int:
    return int(wait_ms * random.uniform(0.75, 1.25))  # noqa: S311  # not a secret
