"""A connection to a mail server, which can send several emails.

Its methods block, so `transport.py` runs them in a thread.

The class of an error states what happened:

- `ServerUnavailable`: the server currently accepts no emails
- `NotAccepted`: the server did not accept this email
- `AddressRefused`: the server refused the address
- `OutcomeUnknown`: the server may have accepted the email

Error messages contain the step and the response codes, but not the response text, which may quote the address.
"""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from typing import BinaryIO

# The maximum size of a response. Real responses have a few hundred bytes.
_MAX_RESPONSE_BYTES = 65_536
_ENHANCED = re.compile(rb"([245])\.(\d{1,3})\.(\d{1,3})\b")
# The second number of an enhanced status code (RFC 3463, subject). These values mean that the problem is the address
# (1), its mailbox (2), routing (4), or unspecified (0). With all other values, the cause is the service or the mail
# server: the server's state, the protocol, the content, or a policy (7), such as forbidden relaying.
_ADDRESS_SUBJECTS = ("0", "1", "2", "4")
# Subjects and details that do not mean a bad address: the sender's address (1.7), its domain (1.8), congestion (4.5).
# Postfix and others check the sender only when they receive the recipient's address.
_NOT_ADDRESS_DETAILS = ("1.7", "1.8", "4.5")
# Reply codes that do not mean a bad address. 552 for a recipient is transient (RFC 5321, 4.5.3.1.10). 503 means a bad
# sequence of commands. 530 means that the client must sign in first.
_NOT_ADDRESS_CODES = (503, 530, 552)
_CLOSING = 421
# The maximum number of accepted domains that are remembered.
_MOST_DOMAINS = 10_000


class MailError(Exception):
    """Raised if an email could not be sent.

    The exception's text contains the SMTP step and the reply codes, such as `RCPT 550 5.1.1`.
    """


_Error = TypeVar("_Error", bound=MailError)


class ServerUnavailable(MailError):
    """Raised if the server cannot be reached or rejects the service's credentials or sender.

    No emails can be sent now.
    """


class NotAccepted(MailError):
    """Raised if the server did not accept this email, but a retry may succeed. `slow`: True if the server timed out."""

    def __init__(self, text: str, *, slow: bool = False) -> None:
        super().__init__(text)
        self.slow = slow


class AddressRefused(MailError):
    """Raised if the server permanently refuses this address."""


class OutcomeUnknown(MailError):
    """Raised if the whole email was sent, but the server neither confirmed nor rejected it.

    The server may have accepted the email.
    """


@dataclass(frozen=True)
class Patience:
    """Timeouts in seconds: for one step, for connecting and signing in, and for a whole email.

    After a server has received an email, it may take minutes to respond (RFC 5321, 4.5.3.2.6). This step therefore has
    the timeout `email_s`. With a shorter timeout, the service could send the email twice.
    """

    step_s: float = 30
    connect_s: float = 60
    email_s: float = 300


class Connection:
    """A connection to a mail server. Call `connect` once, then `send` for each email. Any thread may call `cut`.

    `accepted_domains`: the domains, in lower case, in which the server has accepted a recipient. All connections to a
    server share this set.
    """

    def __init__(self, smtp_url: str, patience: Patience, accepted_domains: set[str]) -> None:
        self._url = urlsplit(smtp_url)
        self._patience = patience
        self._accepted_domains = accepted_domains
        self._server: _Server | None = None
        self._cutting = threading.Lock()
        self._cut = False
        self._socket: socket.socket | None = None
        self._step = "connect"
        self.used = False  # True once the connection has sent an email

    def connect(self) -> None:
        """Connect and sign in. smtp:// upgrades to TLS if the server offers it; smtps:// starts with TLS.

        Raises ServerUnavailable.
        """
        host = self._url.hostname or ""
        try:
            tls = self._url.scheme == "smtps"
            self._server = server = (_ServerTls if tls else _Server)(self, self._patience.step_s)
            server.connect_to(host, self._url.port or (465 if tls else 587))
            self._sign_in(server, tls=tls)
        except smtplib.SMTPResponseException as error:
            raise ServerUnavailable(f"{self._step} {_codes(error.smtp_code, _bytes(error.smtp_error))}") from None
        except smtplib.SMTPNotSupportedError as error:
            raise ServerUnavailable(f"{self._step} {error}") from None
        except (OSError, smtplib.SMTPException, UnicodeError) as error:
            raise ServerUnavailable(f"{self._step} {type(error).__name__}") from None
        finally:
            if self._step != "MAIL":
                self.close()

    def _sign_in(self, server: _Server, *, tls: bool) -> None:
        self._step = "EHLO"
        server.ehlo_or_helo_if_needed()
        if not tls and server.has_extn("starttls"):
            self._step = "STARTTLS"
            server.starttls(context=ssl.create_default_context())
            if server.sock is not None:
                self.hold(server.sock)
            self._step = "EHLO"
            server.ehlo_or_helo_if_needed()
            tls = True
        if self._url.username:
            self._step = "AUTH"
            if not tls:
                raise smtplib.SMTPNotSupportedError("no STARTTLS: the password would be sent unencrypted")
            server.login(unquote(self._url.username), unquote(self._url.password or ""))
        self._step = "MAIL"

    def send(self, sender: str, address: str, message: bytes) -> None:
        """Send one email. `message` consists of ASCII lines that end with CRLF.

        Raises ServerUnavailable, NotAccepted, AddressRefused, OutcomeUnknown. Afterwards, `usable` is True if the
        connection can send another email.
        """
        server = self._server
        assert server is not None, "call connect first"
        try:
            if self._step != "MAIL":  # the previous email on this connection was not accepted
                self._step = "MAIL"
                server.rset()
            self.offer(sender, len(message))
            self._step = "RCPT"
            code, text = server.rcpt(address)
            domain = address.rpartition("@")[2].lower()
            if code not in (250, 251):
                raise self._recipient_refused(code, text, domain)
            if len(self._accepted_domains) < _MOST_DOMAINS:
                self._accepted_domains.add(domain)
            self._step = "DATA"
            code, text = server.docmd("DATA")
            if code != 354:
                raise self._refusal(NotAccepted, code, text)
            self._wait_s(self._patience.email_s)
            self._step = "after DATA"  # set before sending, since another thread may call `lost` at any time
            server.send(re.sub(rb"(?m)^\.", b"..", message) + b".\r\n")
            code, text = server.getreply()
            if code // 100 != 2:
                raise self._refusal(NotAccepted if code // 100 in (4, 5) else OutcomeUnknown, code, text)
            self._wait_s(self._patience.step_s)
        except (OSError, smtplib.SMTPException) as error:
            self.close()
            raise self.lost(slow=isinstance(error.__context__ or error, TimeoutError)) from None
        self._step = "MAIL"
        self.used = True

    def offer(self, sender: str, size_bytes: int = 0) -> None:
        """Send the MAIL command.

        Raises ServerUnavailable if the sender is rejected, and OSError or SMTPException if the connection is lost.
        """
        assert self._server is not None, "call connect first"
        options = [f"size={size_bytes}"] if size_bytes and self._server.has_extn("size") else []
        code, text = self._server.mail(sender, options)
        if code != 250:
            error = self._refusal(ServerUnavailable, code, text)
            self.close()
            raise error

    def try_sender(self, sender: str) -> None:
        """Check that the server accepts the sender, and close the connection. Raises ServerUnavailable."""
        try:
            self.offer(sender)
        except (OSError, smtplib.SMTPException):
            raise self.lost(slow=False) from None
        finally:
            self.quit()

    def lost(self, *, slow: bool) -> MailError:
        """Return the error for a connection that was lost in the current step.

        `slow`: True if the server timed out.
        """
        text = f"{self._step} {'timed out' if slow else 'connection lost'}"
        if self._step in ("RCPT", "DATA"):
            return NotAccepted(text, slow=slow)
        return OutcomeUnknown(text) if self._step == "after DATA" else ServerUnavailable(text)

    @property
    def usable(self) -> bool:
        """True if the connection can send another email."""
        return not self._cut and self._server is not None and self._server.sock is not None

    def quit(self) -> None:
        """Send QUIT and close the connection."""
        if self.usable and self._server is not None:
            with suppress(OSError, smtplib.SMTPException):
                self._server.quit()
        self.close()

    def close(self) -> None:
        """Close the connection immediately. Must not be called while another thread uses it."""
        self.cut()
        if self._server is not None:
            self._server.close()

    def cut(self) -> None:
        """Shut down the socket.

        Any thread may call this. The thread that uses the connection then gets an error and closes the connection.
        """
        with self._cutting:
            self._cut = True
            if self._socket is not None:
                with suppress(OSError):
                    # Call the plain socket's method, because SSLSocket's method would drop TLS while it is in use.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def hold(self, sock: socket.socket) -> socket.socket:
        """Store the socket, so that `cut` can shut it down. Raises OSError if `cut` has already been called."""
        with self._cutting:
            if self._cut:
                sock.close()
                raise OSError("cut")
            self._socket = sock
        return sock

    def _wait_s(self, limit_s: float) -> None:
        """Set the timeout, in seconds, for responses."""
        if self._socket is not None:
            self._socket.settimeout(limit_s)

    def _recipient_refused(self, code: int, text: bytes, domain: str) -> MailError:
        """Return AddressRefused, or NotAccepted if the server refused for a reason other than the address.

        A response that gives no specific reason may mean that the server does not relay the service's emails. It counts
        against the address only if the server has already accepted a recipient in the same domain.
        """
        match = _ENHANCED.match(text)
        subject, detail = (match[2].decode(), match[3].decode()) if match else ("0", "0")
        refused = (
            code // 100 == 5
            and subject in _ADDRESS_SUBJECTS
            and f"{subject}.{detail}" not in _NOT_ADDRESS_DETAILS
            and (match or code not in _NOT_ADDRESS_CODES)
            and ("0" not in (subject, detail) or domain in self._accepted_domains)
        )
        return self._refusal(AddressRefused if refused else NotAccepted, code, text)

    def _refusal(self, kind: type[_Error], code: int, text: bytes) -> _Error:
        if code == _CLOSING or code // 100 not in (
            2,
            3,
            4,
            5,
        ):  # the server closes the connection, or its state is unknown
            self.close()
        return kind(f"{self._step} {_codes(code, text)}")


class _Server(smtplib.SMTP):
    """The standard library's SMTP client, with a socket that `cut` can shut down and size-limited responses."""

    def __init__(self, connection: Connection, step_s: float) -> None:
        super().__init__(timeout=step_s)
        self._connection = connection

    def connect_to(self, host: str, port: int) -> None:
        """Connect. Raises SMTPConnectError if the server does not send a greeting."""
        self._host = host  # the certificate must be valid for this name
        code, text = self.connect(host, port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, text)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._connection.hold(socket.create_connection((host, port), timeout))

    def getreply(self) -> tuple[int, bytes]:
        """Read a response. Raises SMTPServerDisconnected if the connection is lost or the response is too long."""
        if self.file is None and self.sock is not None:
            self.file = _Bounded(self.sock.makefile("rb"))
        if self.file is not None:
            self.file.left_bytes = _MAX_RESPONSE_BYTES
        return super().getreply()


class _ServerTls(_Server, smtplib.SMTP_SSL):
    """Like `_Server`, but with implicit TLS."""

    def __init__(self, connection: Connection, step_s: float) -> None:
        smtplib.SMTP_SSL.__init__(self, timeout=step_s, context=ssl.create_default_context())
        self._connection = connection

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        bare = self._connection.hold(socket.create_connection((host, port), timeout))
        return self._connection.hold(self.context.wrap_socket(bare, server_hostname=host))


class _Bounded:
    """Reads the server's responses line by line. `left_bytes`: the number of bytes that may still be read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.left_bytes = 0

    def readline(self, most_bytes: int) -> bytes:
        """Return the next line. Raises OSError if the limit is exceeded."""
        line = self._file.readline(most_bytes)
        self.left_bytes -= len(line)
        if self.left_bytes < 0:
            raise OSError("the response is too long")
        return line

    def close(self) -> None:
        """Close the file of the socket. `smtplib` calls this method."""
        self._file.close()


def _codes(code: int, text: bytes) -> str:
    """Return the reply code and the enhanced status code of a response, such as `550 5.1.1`."""
    match = _ENHANCED.match(text)
    return f"{code} {match[0].decode()}" if match else str(code)


def _bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()
