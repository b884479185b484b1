"""Mails: into the folder or to a server; a job that fails disturbs nobody."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from svc.config import Mail
from svc.mail import Letter, check_mail, open_mailer

if TYPE_CHECKING:
    from collections.abc import Iterator

LETTER = Letter(
    "ann@example.com", "Grüße", "Öffne diesen Link:\n\nhttps://svc.example/confirm?token=" + "x" * 90 + "\n"
)


async def compose() -> Letter:
    return LETTER


@contextmanager
def mail_server(refuse: int = 0) -> Iterator[tuple[int, list[bytes]]]:
    """A small SMTP server; its port and the messages that it took. It turns the first `refuse` senders away."""
    taken: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def talk(connection: socket.socket, turned_away: bool) -> None:
        with connection, connection.makefile("rwb") as lines:

            def say(text: str) -> None:
                lines.write(text.encode() + b"\r\n")
                lines.flush()

            say("421 busy" if turned_away else "220 ready")
            while not turned_away and (line := lines.readline()):
                word = line.split()[0].upper()
                if word == b"DATA":
                    say("354 go on")
                    message = b""
                    while (part := lines.readline()) != b".\r\n":
                        message += part
                    taken.append(message)
                if word == b"QUIT":
                    say("221 bye")
                    return
                say("250 ok")

    def serve() -> None:
        left = refuse
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            left -= 1
            talk(connection, left >= 0)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1], taken
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def smtp(port: int, credentials: str = "") -> Mail:
    url = f"smtp://{credentials}127.0.0.1:{port}"
    return Mail.model_validate({"transport": "smtp", "smtp_url": url, "from": "svc@example.com"})


async def test_a_letter_becomes_one_whole_file(tmp_path):
    async with open_mailer(Mail(folder=tmp_path / "mail")) as mailer:
        for _ in range(3):
            mailer.post(compose)
        await mailer.settled()
    files = list((tmp_path / "mail").iterdir())
    assert len(files) == 3
    assert all(path.suffix == ".eml" for path in files)
    text = files[0].read_text()
    assert "To: ann@example.com" in text
    assert "https://svc.example/confirm?token=" + "x" * 90 + "\n" in text  # never broken over two lines


async def test_a_letter_reaches_a_server():
    with mail_server() as (port, taken):
        async with open_mailer(smtp(port)) as mailer:
            mailer.post(compose)
            await mailer.settled()
        assert len(taken) == 1
        assert b"From: svc@example.com" in taken[0]


async def test_a_letter_that_a_server_turned_away_is_tried_again(autojump_clock, caplog):
    with mail_server(refuse=2) as (port, taken):
        async with open_mailer(smtp(port)) as mailer:
            mailer.post(compose)
            await mailer.settled()
        assert len(taken) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "ann@example.com" not in caplog.text


async def test_a_letter_that_cannot_be_sent_is_given_up_with_an_error(autojump_clock, expected_errors, caplog):
    expected_errors.allow("mail given up")
    with mail_server(refuse=100) as (port, taken):
        async with open_mailer(smtp(port)) as mailer:
            mailer.post(compose)
            await mailer.settled()
        assert taken == []
    assert "ann@example.com" not in caplog.text


async def test_a_password_is_never_sent_in_the_clear(autojump_clock, expected_errors):
    expected_errors.allow("mail given up")
    with mail_server() as (port, taken):
        async with open_mailer(smtp(port, "user:secret@")) as mailer:
            mailer.post(compose)
            await mailer.settled()
        assert taken == []
        with pytest.raises(OSError, match="refuses"):
            await check_mail(smtp(port, "user:secret@"))


async def test_a_job_that_fails_does_not_stop_the_mailer(tmp_path, expected_errors):
    expected_errors.allow("letter not composed.*RuntimeError")

    async def fail() -> Letter:
        raise RuntimeError("the store is gone")

    async with open_mailer(Mail(folder=tmp_path / "mail")) as mailer:
        mailer.post(fail)
        mailer.post(compose)
        await mailer.settled()
    assert len(list((tmp_path / "mail").iterdir())) == 1


async def test_what_is_posted_last_still_leaves_at_the_end(tmp_path):
    async with open_mailer(Mail(folder=tmp_path / "mail")) as mailer:
        mailer.post(compose)
    assert len(list((tmp_path / "mail").iterdir())) == 1


async def test_a_check_says_whether_mails_can_leave(tmp_path):
    await check_mail(Mail(folder=tmp_path / "new"))
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        await check_mail(Mail(folder=tmp_path / "file"))
    with mail_server() as (port, _):
        await check_mail(smtp(port))
    with pytest.raises(OSError, match="refused"):
        await check_mail(smtp(port))
