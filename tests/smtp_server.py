"""A mail server for tests. At each step, it can reject, hang, close the connection or send garbage.

The server supports SMTP (RFC 5321) with STARTTLS, implicit TLS, AUTH PLAIN and AUTH LOGIN. It does not offer 8BITMIME,
so it accepts only lines of ASCII text.
"""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable


class Act(Enum):
    """A misbehavior that replaces the server's normal reply."""

    HANG = "hangs until the client disconnects"
    CLOSE = "closes the connection"
    GARBAGE = "sends an invalid reply"
    LONG_LINE = "sends an endless line"
    FLOOD = "sends an endless reply of many lines"


@dataclass(frozen=True)
class Taken:
    """An email that the server has accepted."""

    sender: str
    to: str
    raw: bytes


class _Over(Exception):
    """Raised when the connection has ended."""


class SmtpServer:
    """A mail server that listens from `start` to `stop`. Before `start`, it refuses connections.

    `rule(step, line)` returns the reply or misbehavior at a step, or None for the normal reply. The steps are welcome,
    EHLO, STARTTLS, AUTH, MAIL, RCPT, DATA, taken (after the final dot) and QUIT. If `password` is given, clients must
    authenticate as `user`.
    """

    def __init__(
        self,
        rule: Callable[[str, str], str | Act | None] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        implicit_tls: bool = False,
        password: str | None = None,
        user: str = "user",
    ) -> None:
        self.rule = rule or (lambda step, said: None)
        self.taken: list[Taken] = []
        self.steps: list[str] = []
        self.connections = 0
        # `hangs` is released when the server stops responding on a connection, and `left_alone` when the client then
        # disconnects.
        self.hangs = threading.Semaphore(0)
        self.left_alone = threading.Semaphore(0)
        self._tls = tls
        self._implicit_tls = implicit_tls
        self._password = password
        self._user = user
        # The socket is bound but not listening, so connections are refused and the port is reserved.
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()

    def __enter__(self) -> SmtpServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start listening."""
        self._listener.listen(50)
        self._threads.append(threading.Thread(target=self._accept))
        self._threads[-1].start()

    def stop(self) -> None:
        """Stop listening, and close all connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        talk = _Talk(self, connection)
        with suppress(OSError, _Over, ValueError):
            if self._implicit_tls:
                talk.upgrade()
            talk.hold()
        talk.close()

    def upgraded(self, connection: socket.socket) -> socket.socket:
        """Return the connection wrapped in TLS."""
        assert self._tls is not None
        self.left(connection)
        secure = self._tls.wrap_socket(connection, server_side=True)
        self.joined(secure)
        return secure

    @property
    def offers(self) -> list[str]:
        """The extensions that the server offers before TLS is active."""
        return ["STARTTLS"] if self._tls is not None and not self._implicit_tls else []

    def right(self, user_and_password: bytes) -> bool:
        """Return True if the credentials are valid."""
        return user_and_password == f"\0{self._user}\0{self._password}".encode()

    @property
    def wants_password(self) -> bool:
        """True if clients must authenticate."""
        return self._password is not None

    def joined(self, connection: socket.socket) -> None:
        """Register an open connection."""
        self._open.add(connection)

    def left(self, connection: socket.socket) -> None:
        """Unregister a closed connection."""
        self._open.discard(connection)


class _Talk:
    """The server's side of the conversation on one connection."""

    def __init__(self, server: SmtpServer, connection: socket.socket) -> None:
        self._server = server
        self._socket = connection
        server.joined(connection)
        self._lines: BinaryIO = connection.makefile("rb")
        self._secure = self._signed_in = False
        self._sender = self._to = ""

    def upgrade(self) -> None:
        self._lines.close()
        self._socket = self._server.upgraded(self._socket)
        self._lines = self._socket.makefile("rb")
        self._secure = True

    def close(self) -> None:
        self._server.left(self._socket)
        self._lines.close()
        self._socket.close()

    def hold(self) -> None:
        self._respond("welcome", "", "220 mail.example ready")
        handlers: dict[str, Any] = {
            "EHLO": self._ehlo,
            "HELO": self._ehlo,
            "MAIL": self._mail,
            "RCPT": self._rcpt,
            "DATA": self._data,
        }
        handlers |= {"STARTTLS": self._starttls, "AUTH": self._auth, "RSET": self._rset, "NOOP": self._rset}
        while True:
            line = self._line()
            verb = line.split(" ")[0].upper()
            if verb == "QUIT":
                self._respond("QUIT", line, "221 2.0.0 bye")
                return
            handlers.get(verb, self._unknown)(line)

    def _line(self) -> str:
        line = self._lines.readline(2_000)
        if not line.endswith(b"\r\n"):
            raise _Over
        return line.decode("ascii").rstrip("\r\n")

    def _say(self, text: str) -> None:
        self._socket.sendall(text.encode() + b"\r\n")

    def _respond(self, step: str, said: str, usual: str) -> bool:
        """Send the reply for a step. Return True if it was the normal reply."""
        self._server.steps.append(step)
        act = self._server.rule(step, said)
        if isinstance(act, str):
            self._say(act)
        elif act is Act.CLOSE:
            raise _Over
        elif act is Act.HANG:
            self._server.hangs.release()
            while self._socket.recv(1_000):
                pass
            self._server.left_alone.release()
            raise _Over
        elif act is Act.GARBAGE:
            self._say("\x00\xff\x07 what is this?")
        elif act in (Act.FLOOD, Act.LONG_LINE):
            self._flood(
                b"250-" + b"x" * 996 if act is Act.FLOOD else b"x" * 1_000, b"\r\n" if act is Act.FLOOD else b""
            )
        else:
            self._say(usual)
        return act is None

    def _flood(self, part: bytes, end: bytes) -> None:
        while True:  # until the client disconnects
            self._socket.sendall(part + end)

    def _ehlo(self, line: str) -> None:
        extensions = [] if self._secure else self._server.offers
        if self._secure and self._server.wants_password:
            extensions = [*extensions, "AUTH PLAIN LOGIN"]
        lines = ["mail.example", "SIZE 1000000", "ENHANCEDSTATUSCODES", *extensions]
        self._respond("EHLO", line, "\r\n".join([*(f"250-{one}" for one in lines[:-1]), f"250 {lines[-1]}"]))

    def _starttls(self, line: str) -> None:
        if self._respond("STARTTLS", line, "220 2.0.0 ready to start TLS"):
            self.upgrade()

    def _auth(self, line: str) -> None:
        right = self._server.right(base64.b64decode(line.split(" ")[-1]))
        self._signed_in = right
        self._respond("AUTH", line.split(" ")[1], "235 2.7.0 welcome" if right else "535 5.7.8 no")

    def _rset(self, line: str) -> None:
        self._sender = self._to = ""
        self._say("250 2.0.0 ok")

    def _mail(self, line: str) -> None:
        if self._server.wants_password and not self._signed_in:
            self._say("530 5.7.0 sign in first")
        elif self._sender:
            self._say("503 5.5.1 one at a time")
        elif self._respond("MAIL", line, "250 2.1.0 ok"):
            self._sender = line

    def _rcpt(self, line: str) -> None:
        if self._respond("RCPT", line, "250 2.1.5 ok"):
            self._to = line.partition("<")[2].rstrip(">")

    def _data(self, line: str) -> None:
        if not self._respond("DATA", line, "354 send the message"):
            return
        raw = b""
        while (part := self._lines.readline(2_000)) != b".\r\n":
            if not part.endswith(b"\r\n") or len(part) > 1_000 or max(part) > 127:
                raise _Over  # the text is not a line, too long, or 8-bit; some servers reject such text
            raw += part.removeprefix(b".")
        self._server.taken.append(Taken(self._sender, self._to, raw))
        self._sender = ""
        if not self._respond("taken", line, "250 2.0.0 accepted"):
            self._to = ""

    def _unknown(self, line: str) -> None:
        self._say("500 5.5.2 what?")
