"""E-mails: into the folder or to a server; a job that fails disturbs nobody."""

from __future__ import annotations

import email
import email.policy
import re
import socket
import stat
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc.config import MailConfig
from svc.emails import Email, parse_address
from svc.mail import check_mail, message_of, open_mailer

if TYPE_CHECKING:
    from collections.abc import Iterator

EMAIL = Email("ann@example.com", "Grüße", "Öffne diesen Link:\n\nhttps://svc.example/confirm?token=" + "x" * 90 + "\n")


async def compose() -> Email:
    return EMAIL


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


def smtp(port: int, credentials: str = "") -> MailConfig:
    url = f"smtp://{credentials}127.0.0.1:{port}"
    return MailConfig.model_validate({"transport": "smtp", "smtp_url": url, "from": "svc@example.com"})


async def test_an_email_becomes_one_whole_file(tmp_path):
    async with open_mailer(MailConfig(folder=tmp_path / "mail")) as mailer:
        for _ in range(3):
            mailer.post(compose)
        await mailer.settled()
    files = list((tmp_path / "mail").iterdir())
    assert len(files) == 3
    assert all(path.suffix == ".eml" for path in files)
    assert [stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "mail", *files]] == [0o700, 0o600, 0o600, 0o600]
    text = files[0].read_text()
    assert "To: ann@example.com" in text
    assert "https://svc.example/confirm?token=" + "x" * 90 + "\n" in text  # never broken over two lines


async def test_an_email_reaches_a_server():
    with mail_server() as (port, taken):
        async with open_mailer(smtp(port)) as mailer:
            mailer.post(compose)
            await mailer.settled()
        assert len(taken) == 1
        assert b"From: svc@example.com" in taken[0]


async def test_an_email_that_a_server_turned_away_is_tried_again(autojump_clock, caplog):
    with mail_server(refuse=2) as (port, taken):
        async with open_mailer(smtp(port)) as mailer:
            mailer.post(compose)
            await mailer.settled()
        assert len(taken) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "ann@example.com" not in caplog.text


async def test_an_email_that_cannot_be_sent_is_given_up_with_an_error(autojump_clock, expected_errors, caplog):
    expected_errors.allow("e-mail given up")
    with mail_server(refuse=100) as (port, taken):
        async with open_mailer(smtp(port)) as mailer:
            mailer.post(compose)
            await mailer.settled()
        assert taken == []
    assert "ann@example.com" not in caplog.text


async def test_a_password_is_never_sent_in_the_clear(autojump_clock, expected_errors):
    expected_errors.allow("e-mail given up")
    with mail_server() as (port, taken):
        async with open_mailer(smtp(port, "user:secret@")) as mailer:
            mailer.post(compose)
            await mailer.settled()
        assert taken == []
        with pytest.raises(OSError, match="refuses"):
            await check_mail(smtp(port, "user:secret@"))


async def test_a_job_that_fails_does_not_stop_the_mailer(tmp_path, expected_errors):
    expected_errors.allow("e-mail failed.*RuntimeError")

    async def fail() -> Email:
        raise RuntimeError("the store is gone")

    async with open_mailer(MailConfig(folder=tmp_path / "mail")) as mailer:
        mailer.post(fail)
        mailer.post(compose)
        await mailer.settled()
    assert len(list((tmp_path / "mail").iterdir())) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        Email("=?utf-8?q?a=0d=0ab?=@x", "Subject", "text"),
        Email("ann@example.com\r\nBcc: eve@example.com", "Subject", "text"),
        Email("ann@example.com", "Subject\r\nBcc: eve@example.com", "text"),
        Email("", "", ""),
        Email("ann@example.com", "Subject", "\ud800"),
    ],
)
async def test_an_email_that_cannot_be_made_ends_alone(tmp_path, expected_errors, wrong):
    expected_errors.allow("e-mail failed")

    async def compose_wrong():
        return wrong

    async with open_mailer(MailConfig(folder=tmp_path / "mail")) as mailer:
        for work in (compose_wrong, compose, compose_wrong, compose):
            mailer.post(work)
        await mailer.settled()
    assert len(list((tmp_path / "mail").iterdir())) == 2


async def test_an_email_that_is_not_to_be_sent_leaves_nothing(tmp_path):
    async def compose_only() -> Email:
        return replace(EMAIL, send=False)

    with mail_server() as (port, taken):
        for config in (MailConfig(folder=tmp_path / "mail"), smtp(port)):
            async with open_mailer(config) as mailer:
                mailer.post(compose_only)
                await mailer.settled()
        assert taken == []
    assert list((tmp_path / "mail").iterdir()) == []


def test_the_text_of_an_email_is_not_in_its_repr():
    assert "token" not in repr(EMAIL)


ATOMS = st.text("abcXYZ019!#$%&'*+/=?^_`{|}~-.\"(),:;<>@[\\] \r\n\t\x00\u00e9\u0130\uff20\ud800", max_size=70)
ADDRESSES = st.builds("{}@{}".format, ATOMS, st.from_regex(r"[a-zA-Z0-9.-]{1,70}", fullmatch=True)) | st.text()
GOOD = st.from_regex(
    r"[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,60}(\.[a-z0-9=?_]{1,4})?@(xn--)?[a-z0-9]{1,60}(\.[a-z]{1,60}){1,3}", fullmatch=True
)


@given(ADDRESSES | GOOD)
@example("=?utf-8?q?a=0d=0ab?=@example.com")
@example("=?utf-8?b?YQ==?=@example.com")
@example("'o=?@example.com")
@example("a" * 64 + "@" + ".".join(["b" * 61] * 3) + ".cc")
def test_what_is_taken_as_an_address_makes_an_email_to_exactly_that_one(text):
    try:
        address = parse_address(text)
    except ValueError:
        return
    assert address == text.lower()
    assert len(address) <= 254
    raw = message_of("svc@localhost", Email(address, "Subject", "text")).as_bytes()
    head = raw.partition(b"\n\n")[0].split(b"\n")
    assert f"To: {address}".encode() in head
    assert len(head) == len([line for line in head if re.match(rb"[A-Za-z-]+: ", line)])
    for policy in (email.policy.default, email.policy.SMTP):
        message = email.message_from_bytes(raw, policy=policy)
        [to] = message["To"].addresses
        assert (to.addr_spec, to.display_name) == (address, "")
        assert not message.defects
        assert not message["To"].defects
        assert [name for name in message if name.lower() in ("to", "cc", "bcc")] == ["To"]


@pytest.mark.parametrize(
    "address",
    [
        "ann@example.com",
        "o'brien+tag@mail.example.co.uk",
        "first.last@xn--bcher-kva.example",
        "{a|b}=c?d@example.com",
        "1@1.example",
        "a" * 64 + "@example.com",
    ],
)
def test_usual_and_unusual_addresses_are_taken(address):
    assert parse_address(address.upper()) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ann",
        "@example.com",
        "ann@",
        "@",
        "a@b@example.com",
        "ann@localhost",
        "ann@192.0.2.1",
        "ann@[192.0.2.1]",
        "ann @example.com",
        " ann@example.com",
        "ann@example.com\n",
        ".ann@example.com",
        "ann.@example.com",
        "a..n@example.com",
        "ann@example..com",
        "ann@-example.com",
        "ann@example-.com",
        "ann@example.com.",
        '"ann"@example.com',
        "ann(comment)@example.com",
        "Ann <ann@example.com>",
        "ann@example.com,eve@example.com",
        "ann@ex_ample.com",
        "\u00e4nn@example.com",
        "ann@b\u00fccher.example",
        "ann@exam\uff0eple.com",
        "=?utf-8?q?a=0d=0ab?=@x.example",
        "a" * 65 + "@example.com",
        "a@" + "b." * 130 + "example",
    ],
)
def test_other_texts_are_no_addresses(address):
    with pytest.raises(ValueError, match=r"^must be an e-mail address$"):
        parse_address(address)


async def test_what_is_posted_last_still_leaves_at_the_end(tmp_path):
    async with open_mailer(MailConfig(folder=tmp_path / "mail")) as mailer:
        mailer.post(compose)
    assert len(list((tmp_path / "mail").iterdir())) == 1


async def test_a_check_says_whether_mails_can_leave(tmp_path):
    await check_mail(MailConfig(folder=tmp_path / "new"))
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        await check_mail(MailConfig(folder=tmp_path / "file"))
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    (tmp_path / "new").chmod(0o755)
    with pytest.raises(OSError, match="chmod 700"):
        await check_mail(MailConfig(folder=tmp_path / "new"))
    with mail_server() as (port, _):
        await check_mail(smtp(port))
    with pytest.raises(OSError, match="refused"):
        await check_mail(smtp(port))
