"""E-mails leave: composed and sent in the background, by SMTP or into a folder.

A request only posts a job; composing (which may read and write the store) and sending happen in the mailer's own
task, so the answer tells nothing about whether an address is known, and a client that hangs up stops nothing. Each
e-mail is a fault domain of its own. What must outlive the process waits in the outbox instead (actors/outbox.py).
"""

from __future__ import annotations

import itertools
import logging
import os
import smtplib
import ssl
import stat
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import default as default_policy
from email.utils import formatdate, make_msgid
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import trio

from svc.clock import system_clock
from svc.emails import Email
from svc.errors import Busy
from svc.faults import contained
from svc.ids import new_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.config import MailConfig

log = logging.getLogger(__name__)

# Waiting jobs; the limits on /auth let through far fewer than can be sent, so more means that the mail server hangs.
_DEPTH = 1_000
# E-mails under way at once: one that is tried again must not hold up the others.
_SENDERS = 4
_ATTEMPTS = 4
_FIRST_WAIT_S = 2.0
_SMTP_TIMEOUT_S = 20
# At shutdown: for the e-mails that are under way. What is lost can be asked for again on the page.
_DRAIN_S = 5.0


# A header is never folded: some programs do not join an address that comes in two lines.
_POLICY = default_policy.clone(max_line_length=998)
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
# Of the files of this process: several are written within a millisecond.
_NUMBERS = itertools.count()

Compose = Callable[[], Awaitable[Email]]
Transport = Callable[["MailConfig", Email, EmailMessage], None]


class Mailer:
    """Composes and sends what was posted. Open one with `open_mailer`."""

    def __init__(self, config: MailConfig) -> None:
        self._config = config
        self._send, self._receive = trio.open_memory_channel[Compose](_DEPTH)
        self._posted = 0
        self._settled = trio.Event()
        self._settled.set()

    def post(self, compose: Compose) -> None:
        """Have an e-mail composed and sent. Raises Busy."""
        try:
            self._send.send_nowait(compose)
        except trio.WouldBlock:
            raise Busy(retry_after_s=60) from None
        self._posted += 1
        self._settled = trio.Event() if self._settled.is_set() else self._settled

    async def send(self, email: Email) -> None:
        """Send an e-mail now, in one try. Raises OSError, SMTPException: it was not taken."""
        await trio.to_thread.run_sync(_send, self._config, email)

    async def settled(self) -> None:
        """Until everything that was posted has been sent or given up."""
        await self._settled.wait()

    async def run(self) -> None:
        """Work, for ever."""
        async for compose in self._receive:
            with contained(log, "e-mail failed"):
                await self._deliver(compose)
            self._posted -= 1
            if not self._posted:
                self._settled.set()

    async def _deliver(self, compose: Compose) -> None:
        email = await compose()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await trio.to_thread.run_sync(_send, self._config, email)
                return
            except (OSError, smtplib.SMTPException) as error:
                # The error's text may quote the address; its type says what an operator needs.
                log.warning("e-mail not sent", extra={"attempt": attempt, "reason": type(error).__name__})
                if attempt < _ATTEMPTS:
                    await trio.sleep(_FIRST_WAIT_S * 4 ** (attempt - 1))
        log.error("e-mail given up; run: svc check")


@asynccontextmanager
async def open_mailer(config: MailConfig) -> AsyncIterator[Mailer]:
    """A running mailer. At exit, what waits has a few seconds."""
    mailer = Mailer(config)
    async with trio.open_nursery() as nursery:
        for _ in range(_SENDERS):
            nursery.start_soon(mailer.run)
        yield mailer
        with trio.move_on_after(_DRAIN_S):
            await mailer.settled()
        nursery.cancel_scope.cancel()


async def check_mail(config: MailConfig) -> None:
    """Whether e-mails can leave: the folder can be written, and by nobody else, or the server lets us in.

    Raises OSError.
    """

    def look() -> None:
        if config.transport == "file":
            config.folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
            probe = config.folder / f".{new_id('probe')}"
            probe.touch(_FILE_MODE)
            probe.unlink()
            if stat.S_IMODE(config.folder.stat().st_mode) & 0o077:
                raise OSError(f"others can look into {config.folder}; run: chmod 700 {config.folder}")
            return
        try:
            with _connected(config) as server:
                server.noop()
        except smtplib.SMTPException as error:
            raise OSError(f"the mail server refuses ({type(error).__name__})") from None

    await trio.to_thread.run_sync(look)


def message_of(sender: str, email: Email) -> EmailMessage:
    """The e-mail as it leaves, with exactly one recipient. Raises ValueError: a header would be more than a line."""
    message = EmailMessage(_POLICY)
    message["From"] = Address(addr_spec=sender)
    message["To"] = Address(addr_spec=email.to)
    message["Subject"] = email.subject
    message["Date"] = formatdate(system_clock() / 1000)
    domain = sender.rpartition("@")[2]
    message["Message-ID"] = f"<{email.id}@{domain}>" if email.id else make_msgid(domain=domain)
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(email.text, cte="8bit")
    return message


def _send(config: MailConfig, email: Email) -> None:
    transport: Transport = _into_folder if config.transport == "file" else _by_smtp
    transport(config, email, message_of(config.sender, email))


def _into_folder(config: MailConfig, email: Email, message: EmailMessage) -> None:
    """One .eml an e-mail, their names in the order of sending.

    Written beside and renamed, so that a reader never meets half of one.
    """
    config.folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
    path = config.folder / f"{system_clock()}-{next(_NUMBERS):06}-{new_id('mail')}.eml"
    beside = path.with_suffix(".tmp")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "wb") as file:
            file.write(message.as_bytes())
        if email.send:
            beside.rename(path)
    finally:
        beside.unlink(missing_ok=True)


def _by_smtp(config: MailConfig, email: Email, message: EmailMessage) -> None:
    if not email.send:
        return
    with _connected(config) as server:
        server.send_message(message, from_addr=config.sender, to_addrs=[email.to])


def _connected(config: MailConfig) -> smtplib.SMTP:
    """Signed in to the server of smtp_url. smtp:// upgrades to TLS where the server offers it; smtps:// begins so."""
    parts = urlsplit(config.smtp_url.get_secret_value())
    host = parts.hostname or ""
    server: smtplib.SMTP
    if parts.scheme == "smtps":
        server = smtplib.SMTP_SSL(
            host, parts.port or 465, timeout=_SMTP_TIMEOUT_S, context=ssl.create_default_context()
        )
    else:
        server = smtplib.SMTP(host, parts.port or 587, timeout=_SMTP_TIMEOUT_S)
        server.ehlo()
        if server.has_extn("starttls"):
            server.starttls(context=ssl.create_default_context())
        elif parts.username:
            server.close()
            raise smtplib.SMTPNotSupportedError("no STARTTLS: the password would go over the wire in the clear")
    if parts.username:
        server.login(unquote(parts.username), unquote(parts.password or ""))
    return server
