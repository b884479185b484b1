"""Delivers emails by writing them to a folder, or by sending them to a mail server over a reused connection.

`mail/outbox.py` decides when to send and retry emails.
"""

from __future__ import annotations

import itertools
import os
import stat
from contextlib import suppress
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import formatdate, make_msgid
from typing import TYPE_CHECKING, Protocol

import trio

from svc import atomic_file
from svc.clock import system_clock
from svc.identity.links import operator_links
from svc.identity.operator import DEFAULT_IDENTITY
from svc.ids import new_id
from svc.mail.body import as_html, as_page, as_plain
from svc.mail.smtp import Connection, MailError, Patience, ServerUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from svc.config import MailConfig
    from svc.identity.operator import Identity
    from svc.mail.messages import Email
    from svc.model import Language

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
# A counter that makes file names unique, because several files may be written within the same millisecond.
_NUMBERS = itertools.count()


_LONGEST_WORD = 75  # the maximum length of an encoded word (RFC 2047, 2)


class _Policy(EmailPolicy):
    """An email policy that folds only the subject header, because some mail software cannot read folded addresses.

    RFC 2047, 2: an encoded word has at most 75 characters, so a long non-ASCII subject or name needs several encoded
    words. `EmailPolicy` would encode only the non-ASCII words of a subject, and would sometimes add a space before an
    encoded word that begins a line.
    """

    def fold(self, name: str, value: Any) -> str:
        """Return the folded header as text."""
        folded: str
        if name == "Subject" and value.isascii():
            folded = EmailPolicy(linesep=self.linesep).fold(name, value)
        elif name == "Subject":
            folded = f"Subject: {Header(value, 'utf-8', header_name=name).encode(linesep=self.linesep)}{self.linesep}"
        elif name == "From":
            folded = f"From: {_encoded(value.addresses[0])}{self.linesep}"
        else:
            folded = super().fold(name, value)
        return folded

    def fold_binary(self, name: str, value: Any) -> bytes:
        """Return the folded header as bytes."""
        if name in ("Subject", "From"):
            return self.fold(name, value).encode("ascii")
        folded: bytes = super().fold_binary(name, value)
        return folded


def _encoded(address: Address) -> str:
    """Return the address on one line, with a non-ASCII name as encoded words.

    This is needed because `EmailPolicy` writes the name as one encoded word of any length, and loses the quotation
    marks of ASCII names when it folds the header.
    """
    name = address.display_name
    if name.isascii():
        return str(address)
    words = Header(name, "utf-8", maxlinelen=_LONGEST_WORD, header_name="From").encode(linesep="\n").replace("\n", "")
    return f"{words} <{address.addr_spec}>"


# The policy for emails in files, which people should be able to read.
_READABLE = _Policy(max_line_length=998)
# The policy for emails over SMTP. Non-ASCII characters are encoded, because not every server supports 8BITMIME.
_WIRE = _Policy(max_line_length=998, cte_type="7bit", linesep="\r\n")


class Sender(Protocol):
    """The interface of the transports. A sender delivers one email at a time."""

    async def connect(self) -> None:
        """Connect if necessary. Raises ServerUnavailable."""
        ...

    async def send(self, email: Email) -> None:
        """Try once to send an email. Call `connect` first. Raises MailError, or ValueError if the email is invalid."""
        ...

    async def rest(self) -> None:
        """Close the connection. The next call to `connect` opens a new connection."""
        ...


def new_sender(
    config: MailConfig,
    patience: Patience | None = None,
    identity: Identity = DEFAULT_IDENTITY,
    accepted_domains: set[str] | None = None,
) -> Sender:
    """Create a sender for the configured transport.

    `accepted_domains`: a set that senders to the same mail server share (see `Connection`).
    """
    if config.transport == "file":
        return _Folder(config, identity)
    return _Smtp(config, patience or Patience(), identity, set() if accepted_domains is None else accepted_domains)


class _Folder:
    def __init__(self, config: MailConfig, identity: Identity) -> None:
        self._config = config
        self._identity = identity

    async def connect(self) -> None:
        """Do nothing, because `send` creates the folder."""

    async def send(self, email: Email) -> None:
        """Write the email to a file. Raises ServerUnavailable."""
        await trio.to_thread.run_sync(_into_folder, self._config, email, self._identity)

    async def rest(self) -> None:
        """Do nothing, because there is no connection."""


class _Smtp:
    def __init__(self, config: MailConfig, patience: Patience, identity: Identity, accepted_domains: set[str]) -> None:
        self._config = config
        self._identity = identity
        self._patience = patience
        self._accepted_domains = accepted_domains
        self._connection: Connection | None = None

    async def connect(self) -> None:
        """Connect and sign in, unless the current connection is usable. Raises ServerUnavailable."""
        if self._connection is None or not self._connection.usable:
            url = self._config.smtp_url.get_secret_value()
            self._connection = connection = Connection(url, self._patience, self._accepted_domains)
            await _in_thread(connection, connection.connect, self._patience.connect_s)

    async def send(self, email: Email) -> None:
        """Send an email.

        If the server has closed the connection, open a new connection first. Raises MailError, ValueError.
        """
        message = await trio.to_thread.run_sync(_on_the_wire, self._config.sender, email, self._identity)
        if not email.send:
            return
        connection = self._require_connection()
        try:
            await self._carry(connection, email.to, message)
        except ServerUnavailable:
            # Servers close connections after a certain number of emails or a certain time, and do so in various ways.
            # If the connection was used before, try once more with a new one.
            if not connection.used:
                raise
            await self.connect()
            await self._carry(self._require_connection(), email.to, message)

    async def rest(self) -> None:
        """Send QUIT and close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(MailError):
                await _in_thread(connection, connection.quit, self._patience.step_s)

    def _require_connection(self) -> Connection:
        assert self._connection is not None, "call connect first"
        return self._connection

    async def _carry(self, connection: Connection, address: str, message: bytes) -> None:
        def carry() -> None:
            connection.send(self._config.sender, address, message)

        await _in_thread(connection, carry, self._patience.email_s)


async def _in_thread(connection: Connection, work: Callable[[], None], limit_s: float) -> None:
    """Run blocking work on a connection in a thread. After `limit_s` or on cancellation, cut the connection.

    Raises the errors that the work raises, and MailError after a timeout.
    """
    with trio.move_on_after(limit_s):
        try:
            return await trio.to_thread.run_sync(work, abandon_on_cancel=True)
        except trio.Cancelled:
            connection.cut()
            raise
    raise connection.lost(slow=True)


async def check_mail(config: MailConfig) -> None:
    """Check that emails can be sent, without sending an email. Raises OSError if emails cannot be sent.

    Checks that the folder is writable and private, or that the server accepts the configured credentials and sender.
    """
    if config.transport == "file":
        await trio.to_thread.run_sync(_check_folder, config)
        return
    connection = Connection(config.smtp_url.get_secret_value(), Patience(), set())

    def check() -> None:
        connection.connect()
        connection.try_sender(config.sender)

    try:
        await _in_thread(connection, check, Patience().connect_s)
    except MailError as error:
        raise OSError(f"the mail server does not accept emails ({error})") from None


def _check_folder(config: MailConfig) -> None:
    if not config.folder.exists():
        atomic_file.check_creatable(config.folder)
        return
    atomic_file.check_writable(config.folder)
    if stat.S_IMODE(config.folder.stat().st_mode) & 0o077:
        raise OSError(f"other users can access {config.folder}; run: chmod 700 {config.folder}")


def message_of(
    sender: str, email: Email, policy: EmailPolicy = _READABLE, identity: Identity = DEFAULT_IDENTITY
) -> EmailMessage:
    """Create the message for an email, which has one recipient. Raises ValueError if a header contains a line break."""
    message = EmailMessage(policy)
    message["From"] = Address(display_name=identity.name, addr_spec=sender)
    message["To"] = Address(addr_spec=email.to)
    message["Subject"] = email.subject
    message["Date"] = formatdate(system_clock() / 1000)
    domain = sender.rpartition("@")[2]
    message["Message-ID"] = f"<{email.id}@{domain}>" if email.id else make_msgid(domain=domain)
    message["Auto-Submitted"] = "auto-generated"
    if email.unsubscribe_url:
        message["List-Unsubscribe"] = f"<{email.unsubscribe_url}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    encoding = "8bit" if policy.cte_type == "8bit" else None  # None means 7bit if possible
    foot = _foot(identity, email.language)
    message.set_content(as_plain(f"{email.text}\n\n{foot}"), cte=encoding)
    if email.page:
        page = as_page(email.subject, email.page, email.language, foot)
    else:
        page = as_html(email.subject, email.text, email.language, email.button, foot)
    message.add_alternative(page, subtype="html", cte=encoding)
    # Set last, because earlier `Content-` headers would move to the first part.
    message["Content-Language"] = email.language
    return message


def _foot(identity: Identity, language: Language) -> str:
    """Return the operator's name and links as lines, or "" if the operator has set no link."""
    links = operator_links(identity, language)
    lines = [identity.name, *(f"{each.label}: {each.url.removeprefix('mailto:')}" for each in links)]
    return "\n".join(lines) if links else ""


def _on_the_wire(sender: str, email: Email, identity: Identity) -> bytes:
    return message_of(sender, email, _WIRE, identity).as_bytes()


def _into_folder(config: MailConfig, email: Email, identity: Identity) -> None:
    """Write the email to an .eml file. The order of the file names is the order in which the emails were sent.

    The file is written under a temporary name and then renamed, so that readers never see a partial file.
    Raises ServerUnavailable if the file cannot be written.
    """
    raw = message_of(config.sender, email, identity=identity).as_bytes()
    path = config.folder / f"{system_clock()}-{next(_NUMBERS):06}-{new_id('mail')}.eml"
    temporary = path.with_suffix(".tmp")
    try:
        config.folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "wb") as file:
                file.write(raw)
            if email.send:
                temporary.rename(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise ServerUnavailable(f"folder {type(error).__name__}") from None
