"""The outbox: every e-mail is a row of the store from the commit of its cause until a mail server has taken it.

Whoever posts one (`store/outbox.py`) waits for nothing; the commit wakes the outbox. A few senders, each with a
connection of its own, take what is due. What goes wrong with one e-mail is tried again later, each time later; when the
server itself is away, none is tried until it is back. An e-mail that was sent is deleted; a process that is killed
between the two sends it a second time, under the same Message-ID. None is lost before its own end.
"""

from __future__ import annotations

import logging
import random
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import trio

from svc.errors import StoreUnavailable
from svc.faults import contained
from svc.ids import new_secret
from svc.mail.compose import Draft, Terms, compose
from svc.mail.smtp import AddressRefused, NotTaken, ServerAway, Unsure
from svc.mail.transport import new_sender
from svc.metrics import MAIL_AWAY, MAIL_EXPIRED, MAIL_TRIES, Metrics
from svc.store import notifications, outbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.clock import Clock
    from svc.config import Config, MailConfig
    from svc.mail.compose import Composed
    from svc.mail.smtp import MailTrouble, Patience
    from svc.mail.transport import Sender
    from svc.model import User
    from svc.store.outbox import Waiting
    from svc.store.tx import Store, Tx

log = logging.getLogger(__name__)

# The commit of an e-mail wakes the outbox; this finds what is due again.
_LOOK_EVERY_S = 5.0
_BATCH = 100
# A server that is slow with some must not hold up all; more connections than this some servers refuse.
_SENDERS = 4
# A connection that carries nothing for so long is ended; servers wait for five minutes.
_REST_AFTER_S = 5.0
# Of one e-mail, doubling; chance makes them a quarter shorter or longer, so that many do not come back at once.
_FIRST_WAIT_MS = 60_000
_LONGEST_WAIT_MS = 3_600_000
# Of the server.
_FIRST_AWAY_MS = 5_000
_LONGEST_AWAY_MS = 300_000
# Copies of an e-mail whose fate nobody knows: a server that takes them and never says so would get them for days.
_MOST_COPIES = 2
# At shutdown: for the e-mails that are on their way. Those that are cut go again at the next start.
_DRAIN_S = 5.0
_GOODBYE_S = 1.0


class Outbox:
    """Sends what waits. Open one with `open_outbox`."""

    def __init__(
        self,
        store: Store,
        config: MailConfig,
        clock: Clock,
        terms: Terms,
        patience: Patience | None,
        metrics: Metrics,
    ) -> None:
        self._metrics = metrics
        self._store = store
        self._mail = config
        self._clock = clock
        self._terms = terms
        self._patience = patience
        self._under_way: set[str] = set()
        self._sent: set[str] = set()  # whose rows could not be deleted yet
        self._slow: dict[str, int] = {}  # domains whose e-mails hang, and until when none is tried
        self._away_until = 0
        self._away_ms = 0
        self._asked = 0  # how often somebody asked for a look, and up to which of them all has left
        self._settled = 0
        self._stopping = False
        self._wake = trio.Event()
        self._moved = trio.Event()

    def wake(self) -> None:
        """Look at once what is due."""
        self._asked += 1
        self._wake.set()

    async def settled(self) -> None:
        """Until all has left that can leave now."""
        self.wake()
        mine = self._asked
        while self._settled < mine:
            await self._moved.wait()

    async def rested(self) -> None:
        """Until none is on its way; no other is begun."""
        self._stopping = True
        while self._under_way:
            await self._moved.wait()

    async def run(self) -> None:
        """Work, for ever."""
        hand, take = trio.open_memory_channel["Waiting"](0)
        async with trio.open_nursery() as nursery:
            for _ in range(_SENDERS):
                nursery.start_soon(self._keep_sending, take)
            while True:
                # The loss of the store is logged by the store itself; the next look finds what waits.
                with contained(log, "outbox failed"), suppress(StoreUnavailable):
                    await self._look(hand)
                with trio.move_on_after(_LOOK_EVERY_S):
                    await self._wake.wait()
                self._wake = trio.Event()

    async def _look(self, hand: trio.MemorySendChannel[Waiting]) -> None:
        """Hand what is due to the senders, until nothing is."""
        asked = self._asked
        given_up = 0
        while ended := await self._store.run(outbox.give_up(self._clock())):
            given_up += ended
        if given_up:
            self._metrics.count(MAIL_EXPIRED, by=given_up)
            log.error("e-mails given up; run: svc check", extra={"count": given_up})
        taken = frozenset(self._under_way)
        while not self._away():
            # A sender may finish during the read, whose rows then still hold the e-mail.
            taken = frozenset(self._under_way)
            found = await self._store.read(outbox.due(self._clock(), _BATCH))
            waiting = [one for one in found if one.id not in taken]
            for one in waiting:
                self._under_way.add(one.id)
                await hand.send(one)
            if not waiting:
                break
        # After an e-mail that finished during the read the next one of its account may be due: its sender wakes us.
        if not taken and not self._under_way:
            self._settled = asked
            self._has_moved()

    async def _keep_sending(self, take: trio.MemoryReceiveChannel[Waiting]) -> None:
        """One after the other, on a connection that is kept while there is something to send."""
        sender = new_sender(self._mail, self._patience)
        try:
            while True:
                row = None
                with trio.move_on_after(_REST_AFTER_S):
                    row = await take.receive()
                if row is None:
                    await sender.rest()
                    row = await take.receive()
                try:
                    await self._try(row, sender)
                finally:
                    self._under_way.discard(row.id)
                    self._has_moved()
                    self.wake()
        finally:
            with trio.move_on_after(_GOODBYE_S, shield=True):
                await sender.rest()

    async def _try(self, row: Waiting, sender: Sender) -> None:
        """Send one e-mail; what goes wrong with it, or with the store, ends here."""
        if self._stopping or self._away():
            return
        with suppress(StoreUnavailable):
            with contained(log, "e-mail failed", id=row.id) as border, suppress(StoreUnavailable):
                await self._send(row, sender)
            if border.failed:
                await self._store.run(outbox.failed(row.id, self._again_at(row.attempts), "here; see the log"))

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
            except ServerAway as trouble:
                self._server_is_away(trouble)

    async def _hand_over(self, row: Waiting, composed: Composed, sender: Sender, again_at: int) -> None:
        """Send a composed e-mail and record the outcome. Raises ServerAway."""
        user, now = composed.user, self._clock()
        try:
            await sender.send(composed.email)
        except ServerAway:
            await self._store.run(outbox.not_begun(row.id, now))
            raise
        except AddressRefused as trouble:
            self._note("refused", row, trouble, "refused")
            await self._store.run(_refused(row.id, None if user is None else user.id, now))
        except NotTaken as trouble:
            self._note("retried", row, trouble, "not taken")
            if trouble.slow:
                await self._pass_over(row.address.rpartition("@")[2], again_at)
            await self._store.run(outbox.failed(row.id, again_at, str(trouble)))
        except Unsure as trouble:
            last = row.unsure + 1 >= _MOST_COPIES
            self._note("unsure" if last else "retried", row, trouble, "unsure")
            if last:
                await self._store.run(outbox.done(row.id))
            else:
                await self._store.run(outbox.failed(row.id, again_at, str(trouble), unsure=True))
        else:
            self._metrics.count(MAIL_TRIES, "sent" if composed.email.send else "nobody")
            self._sent.add(row.id)
            await self._record_sent(row.id, user)
        self._server_is_there()

    async def _record_sent(self, mail_id: str, user: User | None) -> None:
        """Where the store is away now, the next look records it, and the e-mail is not sent again."""
        await self._store.run(_sent(mail_id, user.id if user is not None and user.email_refused_at else None))
        self._sent.discard(mail_id)

    async def _pass_over(self, domain: str, until: int) -> None:
        """A server that asks `domain`'s own for each address may hang with it; what goes to others is not to wait."""
        now = self._clock()
        self._slow = {name: at for name, at in self._slow.items() if at > now} | {domain: until}
        await self._store.run(outbox.postpone_domain(domain, now, until))

    def _note(self, outcome: str, row: Waiting, trouble: MailTrouble, word: str) -> None:
        self._metrics.count(MAIL_TRIES, outcome)
        extra = {"id": row.id, "kind": row.kind, "attempt": row.attempts + 1, "trouble": str(trouble)}
        log.warning("e-mail %s", word, extra=extra)

    def _away(self) -> bool:
        # A clock that was set back must not hold up e-mails until then.
        return self._clock() < self._away_until <= self._clock() + 2 * _LONGEST_AWAY_MS

    def _server_is_away(self, trouble: ServerAway) -> None:
        if not self._away():  # of several senders that meet it at once the first counts
            self._away_ms = min(_LONGEST_AWAY_MS, max(_FIRST_AWAY_MS, 2 * self._away_ms))
            self._away_until = self._clock() + _about(self._away_ms)
            self._metrics.count(MAIL_AWAY)
            log.warning("mail server away", extra={"trouble": str(trouble), "again_s": self._away_ms / 1000})

    def _server_is_there(self) -> None:
        if self._away_ms:
            log.info("mail server back")
        self._away_ms = self._away_until = 0

    def _again_at(self, attempts: int) -> int:
        """When an e-mail that was tried so often is tried again (epoch ms)."""
        return self._clock() + _about(min(_LONGEST_WAIT_MS, _FIRST_WAIT_MS * 2 ** min(attempts, 10)))

    def _has_moved(self) -> None:
        self._moved.set()
        self._moved = trio.Event()


@asynccontextmanager
async def open_outbox(
    store: Store,
    config: Config,
    clock: Clock,
    service_url: str,
    patience: Patience | None = None,
    metrics: Metrics | None = None,
) -> AsyncIterator[Outbox]:
    """Send what waits while the block runs; at exit, what is on its way has a few seconds.

    `service_url`: where users look, without a slash at its end; `patience`: with a mail server; `metrics`: to whom it
    reports; None: nobody.
    """
    terms = Terms(service_url, config.timing.mail_token_s)
    box = Outbox(store, config.mail, clock, terms, patience, metrics or Metrics())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(box.run)
        with store.changes.told_of_posts(box.wake):
            yield box
        with trio.move_on_after(_DRAIN_S):
            await box.rested()
        nursery.cancel_scope.cancel()


def _sent(mail_id: str, reached_user_id: int | None) -> Tx[None]:
    yield from outbox.done(mail_id)
    if reached_user_id is not None:
        yield from notifications.address_works(reached_user_id)


def _refused(mail_id: str, user_id: int | None, now: int) -> Tx[None]:
    if user_id is not None:
        yield from notifications.address_refused(user_id, now)
    yield from outbox.done(mail_id)


def _about(wait_ms: int) -> int:
    return int(wait_ms * random.uniform(0.75, 1.25))  # noqa: S311  # no secret
