"""One connection to a mail server: signed in, then one e-mail after the other. Blocking: `transport.py` has a thread.

What goes wrong is told apart by what it means for the e-mail: nothing, as no e-mail leaves now (`ServerAway`); this one
was not taken (`NotTaken`); its address is refused (`AddressRefused`); it may have been taken (`Unsure`). Each names the
step and the server's codes, never its words, which may quote the address.
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

# Of one answer. Real ones have some hundred bytes.
_LONGEST_ANSWER_BYTES = 65_536
_ENHANCED = re.compile(rb"([245])\.(\d{1,3})\.(\d{1,3})\b")
# RFC 3463: what the server says of the address (1), of its mailbox (2), of the way to it (4), or nothing closer (0).
# The others are about us: the server's state, the protocol, the content, and policy (7), e.g. that we may not relay.
_OF_THE_ADDRESS = ("0", "1", "2", "4")
# RFC 5321, 4.5.3.1.10: a 552 for a recipient is to be taken as transient. 503: it has lost track. 530: sign in first.
_NOT_OF_THE_ADDRESS = (503, 530, 552)
_CLOSING = 421


class MailTrouble(Exception):
    """An e-mail could not be sent. Its text names the step and the server's codes, e.g. `RCPT 550 5.1.1`."""


_Trouble = TypeVar("_Trouble", bound=MailTrouble)


class ServerAway(MailTrouble):
    """The server cannot be reached, or lets nobody in, or takes nothing from our sender: no e-mail leaves now."""


class NotTaken(MailTrouble):
    """This e-mail was not taken; a later try may do. `slow`: the server did not answer in time."""

    def __init__(self, text: str, *, slow: bool = False) -> None:
        super().__init__(text)
        self.slow = slow


class AddressRefused(MailTrouble):
    """The server takes nothing for this address, now or later."""


class Unsure(MailTrouble):
    """All of the e-mail was sent and no answer came: it may have been taken."""


@dataclass(frozen=True)
class Patience:
    """How long is waited: for one step, for a connection with sign-in, for an e-mail as a whole (seconds).

    A server that has all of an e-mail may look at it for minutes (RFC 5321, 4.5.3.2.6); who gives up sooner sends it
    twice.
    """

    step_s: float = 30
    connect_s: float = 60
    email_s: float = 300


class Connection:
    """Signed in by `connect`; then `send`, as often as the server likes. `cut` may be called by any thread."""

    def __init__(self, smtp_url: str, patience: Patience) -> None:
        self._url = urlsplit(smtp_url)
        self._patience = patience
        self._server: _Server | None = None
        self._cutting = threading.Lock()
        self._cut = False
        self._socket: socket.socket | None = None
        self._step = "connect"
        self.used = False  # whether it has carried an e-mail

    def connect(self) -> None:
        """Reach the server and sign in. smtp:// upgrades to TLS where the server offers it; smtps:// begins so.

        Raises ServerAway.
        """
        host = self._url.hostname or ""
        try:
            tls = self._url.scheme == "smtps"
            self._server = server = (_ServerTls if tls else _Server)(self, self._patience.step_s)
            server.connect_to(host, self._url.port or (465 if tls else 587))
            self._sign_in(server, tls=tls)
        except smtplib.SMTPResponseException as error:
            raise ServerAway(f"{self._step} {_codes(error.smtp_code, _bytes(error.smtp_error))}") from None
        except smtplib.SMTPNotSupportedError as error:
            raise ServerAway(f"{self._step} {error}") from None
        except (OSError, smtplib.SMTPException, UnicodeError) as error:
            raise ServerAway(f"{self._step} {type(error).__name__}") from None
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
                raise smtplib.SMTPNotSupportedError("no STARTTLS: the password would go over the wire in the clear")
            server.login(unquote(self._url.username), unquote(self._url.password or ""))
        self._step = "MAIL"

    def send(self, sender: str, address: str, message: bytes) -> None:
        """Send one e-mail; `message`: lines of ASCII that end with CRLF.

        Raises ServerAway, NotTaken, AddressRefused, Unsure; `usable` tells whether the connection is good for another.
        """
        server = self._server
        assert server is not None, "connect comes first"
        try:
            if self._step != "MAIL":  # of an e-mail that was not taken
                self._step = "MAIL"
                server.rset()
            self.offer(sender, len(message))
            self._step = "RCPT"
            code, text = server.rcpt(address)
            if code not in (250, 251):
                raise self._recipient_refused(code, text)
            self._step = "DATA"
            code, text = server.docmd("DATA")
            if code != 354:
                raise self._refused(NotTaken, code, text)
            self._wait_s(self._patience.email_s)
            self._step = "after DATA"  # before the first byte leaves: from then on another thread may have to tell
            server.send(re.sub(rb"(?m)^\.", b"..", message) + b".\r\n")
            code, text = server.getreply()
            if code // 100 != 2:
                raise self._refused(NotTaken if code // 100 in (4, 5) else Unsure, code, text)
            self._wait_s(self._patience.step_s)
        except (OSError, smtplib.SMTPException) as error:
            self.close()
            raise self.lost(slow=isinstance(error.__context__ or error, TimeoutError)) from None
        self._step = "MAIL"
        self.used = True

    def offer(self, sender: str, size_bytes: int = 0) -> None:
        """Name the sender. Raises ServerAway: the server takes nothing from it; OSError, SMTPException: it is gone."""
        assert self._server is not None, "connect comes first"
        options = [f"size={size_bytes}"] if size_bytes and self._server.has_extn("size") else []
        code, text = self._server.mail(sender, options)
        if code != 250:
            error = self._refused(ServerAway, code, text)
            self.close()
            raise error

    def try_sender(self, sender: str) -> None:
        """Whether the server would take an e-mail from `sender`; the connection ends. Raises ServerAway."""
        try:
            self.offer(sender)
        except (OSError, smtplib.SMTPException):
            raise self.lost(slow=False) from None
        finally:
            self.quit()

    def lost(self, *, slow: bool) -> MailTrouble:
        """What it means that the connection ended in the step at which it is. `slow`: as no answer came in time."""
        text = f"{self._step} {'no answer in time' if slow else 'connection lost'}"
        if self._step in ("RCPT", "DATA"):
            return NotTaken(text, slow=slow)
        return Unsure(text) if self._step == "after DATA" else ServerAway(text)

    @property
    def usable(self) -> bool:
        """Whether another e-mail can be tried on it."""
        return not self._cut and self._server is not None and self._server.sock is not None

    def quit(self) -> None:
        """End it politely."""
        if self.usable and self._server is not None:
            with suppress(OSError, smtplib.SMTPException):
                self._server.quit()
        self.close()

    def close(self) -> None:
        """End it at once; not while another thread uses it."""
        self.cut()
        if self._server is not None:
            self._server.close()

    def cut(self) -> None:
        """End it whatever a thread is doing with it: that one meets an error, and closes it."""
        with self._cutting:
            self._cut = True
            if self._socket is not None:
                with suppress(OSError):
                    # As a bare one: with TLS it would be told first that it is bare now, though it is in use.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def hold(self, sock: socket.socket) -> socket.socket:
        """Remember the socket, for `cut`. Raises OSError: it was cut meanwhile."""
        with self._cutting:
            if self._cut:
                sock.close()
                raise OSError("cut")
            self._socket = sock
        return sock

    def _wait_s(self, limit_s: float) -> None:
        """Wait as long for each answer from here on."""
        if self._socket is not None:
            self._socket.settimeout(limit_s)

    def _recipient_refused(self, code: int, text: bytes) -> MailTrouble:
        """AddressRefused, or NotTaken where it is not the address that is at fault."""
        found = _ENHANCED.match(text)
        about = found[2].decode() if found else "0"
        refused = code // 100 == 5 and about in _OF_THE_ADDRESS and (found or code not in _NOT_OF_THE_ADDRESS)
        return self._refused(AddressRefused if refused else NotTaken, code, text)

    def _refused(self, kind: type[_Trouble], code: int, text: bytes) -> _Trouble:
        if code == _CLOSING or code // 100 not in (2, 3, 4, 5):  # it goes, or nobody knows what it answers next
            self.close()
        return kind(f"{self._step} {_codes(code, text)}")


class _Server(smtplib.SMTP):
    """The standard library's client; its socket can be cut, and an answer has an end."""

    def __init__(self, connection: Connection, step_s: float) -> None:
        super().__init__(timeout=step_s)
        self._connection = connection

    def connect_to(self, host: str, port: int) -> None:
        """Connect. Raises SMTPConnectError: another answer than a welcome."""
        self._host = host  # what a certificate must name
        code, text = self.connect(host, port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, text)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._connection.hold(socket.create_connection((host, port), timeout))

    def getreply(self) -> tuple[int, bytes]:
        """An answer of the server. Raises SMTPServerDisconnected, also for one that does not end."""
        if self.file is None and self.sock is not None:
            self.file = _Bounded(self.sock.makefile("rb"))
        if self.file is not None:
            self.file.left_bytes = _LONGEST_ANSWER_BYTES
        return super().getreply()


class _ServerTls(_Server, smtplib.SMTP_SSL):
    """The same over TLS from the first byte on."""

    def __init__(self, connection: Connection, step_s: float) -> None:
        smtplib.SMTP_SSL.__init__(self, timeout=step_s, context=ssl.create_default_context())
        self._connection = connection

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        bare = self._connection.hold(socket.create_connection((host, port), timeout))
        return self._connection.hold(self.context.wrap_socket(bare, server_hostname=host))


class _Bounded:
    """What the server says, line by line, up to a number of bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.left_bytes = 0

    def readline(self, most_bytes: int) -> bytes:
        """The next line. Raises OSError: that is too much."""
        line = self._file.readline(most_bytes)
        self.left_bytes -= len(line)
        if self.left_bytes < 0:
            raise OSError("the answer does not end")
        return line

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _codes(code: int, text: bytes) -> str:
    """The numbers of an answer: `550 5.1.1`."""
    found = _ENHANCED.match(text)
    return f"{code} {found[0].decode()}" if found else str(code)


def _bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()
