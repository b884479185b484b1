"""E-mails leave: as files of a folder, or to a mail server over a connection that is kept for the next one.

What is sent when, and again when, is the outbox's (`mail/outbox.py`).
"""

from __future__ import annotations

import itertools
import os
import stat
from contextlib import suppress
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import formatdate, make_msgid
from typing import TYPE_CHECKING, Protocol

import trio

from svc import atomic_file
from svc.clock import system_clock
from svc.ids import new_id
from svc.mail.body import as_html, as_plain
from svc.mail.smtp import Connection, MailTrouble, Patience, ServerAway

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from svc.config import MailConfig
    from svc.mail.messages import Email

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
# Of the files of this process: several are written within a millisecond.
_NUMBERS = itertools.count()


class _Policy(EmailPolicy):
    """A header is never folded, as some programs do not join an address that comes in two lines; but the subject is.

    RFC 2047, 2: an encoded word has at most 75 characters, so a long subject with other letters needs several.
    """

    def fold(self, name: str, value: Any) -> str:
        """The header as text."""
        folded: str = super().fold(name, value) if name != "Subject" else _folding(self).fold(name, value)
        return folded

    def fold_binary(self, name: str, value: Any) -> bytes:
        """The header as bytes."""
        folded: bytes = (
            super().fold_binary(name, value) if name != "Subject" else _folding(self).fold_binary(name, value)
        )
        return folded


def _folding(policy: _Policy) -> Any:
    return EmailPolicy(linesep=policy.linesep)


# Of files: people read them.
_READABLE = _Policy(max_line_length=998)
# Of what goes over the wire. Not every server takes 8-bit letters (8BITMIME), so what is not ASCII is encoded.
_WIRE = _Policy(max_line_length=998, cte_type="7bit", linesep="\r\n")


class Sender(Protocol):
    """A way out for e-mails, one after the other."""

    async def connect(self) -> None:
        """Make sure of a connection. Raises ServerAway."""
        ...

    async def send(self, email: Email) -> None:
        """Send it, in one try; `connect` comes first. Raises MailTrouble, one of its kinds; ValueError: it is none."""
        ...

    async def rest(self) -> None:
        """Let go of the connection; the next `connect` makes another."""
        ...


def new_sender(config: MailConfig, patience: Patience | None = None) -> Sender:
    """A sender of the configured transport."""
    return _Folder(config) if config.transport == "file" else _Smtp(config, patience or Patience())


class _Folder:
    def __init__(self, config: MailConfig) -> None:
        self._config = config

    async def connect(self) -> None:
        """A folder is there or made."""

    async def send(self, email: Email) -> None:
        """Write a file. Raises ServerAway."""
        await trio.to_thread.run_sync(_into_folder, self._config, email)

    async def rest(self) -> None:
        """Nothing is held."""


class _Smtp:
    def __init__(self, config: MailConfig, patience: Patience) -> None:
        self._config = config
        self._patience = patience
        self._connection: Connection | None = None

    async def connect(self) -> None:
        """Sign in, unless the connection of the e-mail before can be used. Raises ServerAway."""
        if self._connection is None or not self._connection.usable:
            self._connection = connection = Connection(self._config.smtp_url.get_secret_value(), self._patience)
            await _in_thread(connection, connection.connect, self._patience.connect_s)

    async def send(self, email: Email) -> None:
        """Send it, on a new connection where the server has ended the old one. Raises MailTrouble, ValueError."""
        message = await trio.to_thread.run_sync(_on_the_wire, self._config.sender, email)
        if not email.send:
            return
        connection = self._connected()
        try:
            await self._carry(connection, email.to, message)
        except ServerAway:
            # After so many e-mails or so much time servers end a connection, each in its own way.
            if not connection.used:
                raise
            await self.connect()
            await self._carry(self._connected(), email.to, message)

    async def rest(self) -> None:
        """Say goodbye to the server."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(MailTrouble):
                await _in_thread(connection, connection.quit, self._patience.step_s)

    def _connected(self) -> Connection:
        assert self._connection is not None, "connect comes first"
        return self._connection

    async def _carry(self, connection: Connection, address: str, message: bytes) -> None:
        def carry() -> None:
            connection.send(self._config.sender, address, message)

        await _in_thread(connection, carry, self._patience.email_s)


async def _in_thread(connection: Connection, work: Callable[[], None], limit_s: float) -> None:
    """Do blocking work with a connection, which is cut after `limit_s`, or when nobody waits for it any more.

    Raises what the work raises; MailTrouble: its time is over.
    """
    with trio.move_on_after(limit_s):
        try:
            return await trio.to_thread.run_sync(work, abandon_on_cancel=True)
        except trio.Cancelled:
            connection.cut()
            raise
    raise connection.lost(slow=True)


async def check_mail(config: MailConfig) -> None:
    """Whether e-mails can leave: the folder can be written, and by nobody else; or the server lets us in, and takes our
    sender. Nothing is made.

    Raises OSError.
    """
    if config.transport == "file":
        await trio.to_thread.run_sync(_check_folder, config)
        return
    connection = Connection(config.smtp_url.get_secret_value(), Patience())

    def look() -> None:
        connection.connect()
        connection.try_sender(config.sender)

    try:
        await _in_thread(connection, look, Patience().connect_s)
    except MailTrouble as trouble:
        raise OSError(f"the mail server takes nothing ({trouble})") from None


def _check_folder(config: MailConfig) -> None:
    if not config.folder.exists():
        atomic_file.check_can_be_made(config.folder)
        return
    atomic_file.check_writable(config.folder)
    if stat.S_IMODE(config.folder.stat().st_mode) & 0o077:
        raise OSError(f"others can look into {config.folder}; run: chmod 700 {config.folder}")


def message_of(sender: str, email: Email, policy: EmailPolicy = _READABLE) -> EmailMessage:
    """The e-mail as it leaves, with exactly one recipient. Raises ValueError: a header would be more than a line."""
    message = EmailMessage(policy)
    message["From"] = Address(addr_spec=sender)
    message["To"] = Address(addr_spec=email.to)
    message["Subject"] = email.subject
    message["Date"] = formatdate(system_clock() / 1000)
    domain = sender.rpartition("@")[2]
    message["Message-ID"] = f"<{email.id}@{domain}>" if email.id else make_msgid(domain=domain)
    message["Auto-Submitted"] = "auto-generated"
    encoding = "8bit" if policy.cte_type == "8bit" else None  # None: 7bit where that does
    message.set_content(as_plain(email.text), cte=encoding)
    message.add_alternative(as_html(email.subject, email.text), subtype="html", cte=encoding)
    return message


def _on_the_wire(sender: str, email: Email) -> bytes:
    return message_of(sender, email, _WIRE).as_bytes()


def _into_folder(config: MailConfig, email: Email) -> None:
    """One .eml an e-mail, their names in the order of sending.

    Written beside and renamed, so that a reader never meets half of one. Raises ServerAway: it cannot be written.
    """
    raw = message_of(config.sender, email).as_bytes()
    path = config.folder / f"{system_clock()}-{next(_NUMBERS):06}-{new_id('mail')}.eml"
    beside = path.with_suffix(".tmp")
    try:
        config.folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "wb") as file:
                file.write(raw)
            if email.send:
                beside.rename(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise ServerAway(f"folder {type(error).__name__}") from None
