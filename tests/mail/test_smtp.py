"""E-mails by SMTP to a server that is right, wrong, hostile or silent at each step; what each means for the e-mail."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
import ssl
from functools import partial

import pytest
import trio
import trustme

from svc.config import MailConfig
from svc.mail.messages import Email
from svc.mail.smtp import AddressRefused, MailTrouble, NotTaken, Patience, ServerAway, Unsure
from svc.mail.transport import check_mail, new_sender
from tests.smtp_server import Act, SmtpServer

LINK = "https://svc.example/confirm?token=" + "x" * 90
EMAIL = Email("ann@example.com", "Confirm your address", f"Open this link:\n\n{LINK}\n\nIt works for 24 hours.")
STEPS = ("welcome", "EHLO", "MAIL", "RCPT", "DATA", "taken")


def config(server: SmtpServer, scheme: str = "smtp", credentials: str = "", host: str = "127.0.0.1") -> MailConfig:
    url = f"{scheme}://{credentials}{host}:{server.port}"
    return MailConfig.model_validate({"transport": "smtp", "smtp_url": url, "from": "svc@example.com"})


def at(step, act):
    """A rule: at this step, always."""
    return lambda name, said: act if name == step else None


async def send(configured, *emails, patience=None):
    """Send them one after the other, as the outbox does."""
    sender = new_sender(configured, patience)
    try:
        for one in emails or (EMAIL,):
            await sender.connect()
            await sender.send(one)
    finally:
        await sender.rest()


def meaning_of(step):
    """What it means that a conversation ends at this step."""
    return {"RCPT": NotTaken, "DATA": NotTaken, "taken": Unsure}.get(step, ServerAway)


async def test_an_email_arrives_as_it_was_written():
    text = "Grüße an „Größe\N{RIGHT DOUBLE QUOTATION MARK}:\n.\n..\n.dots\n\n" + "ein Wort " * 300 + "\n\n" + LINK
    one = Email("ann@example.com", "Grüße " * 30, text + "\n\n" + "x" * 3_000)
    with SmtpServer() as server:
        await send(config(server), one)
    [taken] = server.taken  # and the server takes neither letters of 8 bits nor long lines
    assert taken.to == "ann@example.com"
    message = email.message_from_bytes(taken.raw, policy=email.policy.default)
    assert not message.defects
    assert message["Subject"] == one.subject
    assert all(len(line) <= 78 for line in taken.raw.split(b"\r\n") if line.startswith((b"Subject", b" =?utf-8")))
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    for part in (plain.get_content(), html.get_content()):
        lines = part.splitlines()
        assert any(LINK in line for line in lines)
        assert any(line.removesuffix("<br>") == ".." for line in lines)
        assert "x" * 3_000 in part


async def test_many_emails_share_a_connection_and_one_that_the_server_ends_is_replaced():
    def three_a_connection(step, said):
        return "421 4.7.0 enough" if step == "MAIL" and server.steps.count("MAIL") % 4 == 0 else None

    with SmtpServer(three_a_connection) as server:
        await send(config(server), *[EMAIL] * 10)
    assert (len(server.taken), server.connections) == (10, 4)


async def test_after_a_refused_email_the_next_one_goes_on_the_same_connection():
    with SmtpServer(lambda step, said: "550 5.1.1 no" if "bob@" in said else None) as server:
        sender = new_sender(config(server))
        await sender.connect()
        with pytest.raises(AddressRefused):
            await sender.send(Email("bob@example.com", "Subject", "text"))
        await sender.connect()
        await sender.send(EMAIL)
        await sender.rest()
    assert (len(server.taken), server.connections) == (1, 1)


@pytest.mark.parametrize(
    ("step", "answer", "meaning"),
    [
        ("welcome", "421 4.3.2 busy", ServerAway),
        ("welcome", "554 5.7.1 not you", ServerAway),
        ("EHLO", "421 4.3.2 busy", ServerAway),
        ("EHLO", "550 5.7.1 no", ServerAway),
        ("MAIL", "451 4.3.0 later", ServerAway),
        ("MAIL", "550 5.7.1 not this sender", ServerAway),
        ("MAIL", "530 5.7.0 sign in first", ServerAway),
        ("RCPT", "450 4.2.0 greylisted", NotTaken),
        ("RCPT", "421 4.7.0 too many", NotTaken),
        ("RCPT", "552 too many recipients", NotTaken),
        ("RCPT", "550 5.7.1 relaying denied", NotTaken),
        ("RCPT", "530 sign in first", NotTaken),
        ("RCPT", "503 5.5.1 no", NotTaken),
        ("RCPT", "550 5.1.1 no such user", AddressRefused),
        ("RCPT", "550 no such user", AddressRefused),
        ("RCPT", "552 5.2.2 mailbox full", AddressRefused),
        ("RCPT", "550 5.4.1 access denied", AddressRefused),
        ("RCPT", "556 5.1.10 takes no mail", AddressRefused),
        ("DATA", "451 4.3.0 later", NotTaken),
        ("DATA", "554 5.5.1 no", NotTaken),
        ("taken", "451 4.3.0 later", NotTaken),
        ("taken", "554 5.7.1 that is spam", NotTaken),
        ("taken", "550 5.1.1 who?", NotTaken),
    ],
)
async def test_what_a_refusal_means(step, answer, meaning):
    with SmtpServer(at(step, answer)) as server, pytest.raises(meaning) as caught:
        await send(config(server))
    assert type(caught.value) is meaning
    assert answer[:3] in str(caught.value)
    assert "user" not in str(caught.value)  # what a server says may quote the address


@pytest.mark.parametrize("act", [Act.CLOSE, Act.GARBAGE, Act.LONG_LINE, Act.FLOOD])
@pytest.mark.parametrize("step", STEPS)
async def test_a_server_that_closes_or_talks_nonsense(step, act):
    with SmtpServer(at(step, act)) as server, pytest.raises(MailTrouble) as caught:
        await send(config(server))
    if act is not Act.GARBAGE or step != "RCPT":
        assert type(caught.value) is meaning_of(step)
    assert not isinstance(caught.value, AddressRefused)


@pytest.mark.parametrize("act", ["500 what?", Act.CLOSE, Act.GARBAGE])
async def test_how_a_server_says_goodbye_does_not_matter(act):
    with SmtpServer(at("QUIT", act)) as server:
        await send(config(server))
    assert len(server.taken) == 1


@pytest.mark.parametrize("step", STEPS)
async def test_a_server_that_hangs_is_left(mock_clock, step):
    patience = Patience(step_s=10_000)  # of a socket; that of Trio is what passes here
    with SmtpServer(at(step, Act.HANG)) as server:
        async with trio.open_nursery() as nursery:
            outcome: list[MailTrouble] = []

            async def give_up() -> None:
                try:
                    await send(config(server), patience=patience)
                except MailTrouble as trouble:
                    outcome.append(trouble)

            nursery.start_soon(give_up)
            await trio.to_thread.run_sync(server.hangs.acquire)
            mock_clock.jump(patience.email_s)
    assert type(outcome[0]) is meaning_of(step)
    assert "no answer in time" in str(outcome[0])


@pytest.mark.parametrize("step", ["welcome", "RCPT"])
async def test_a_step_has_a_time_of_its_own(step):
    """Where a slow machine needs longer for an earlier step, that is the one that is told."""
    with SmtpServer(at(step, Act.HANG)) as server, pytest.raises((ServerAway, NotTaken)):
        await send(config(server), patience=Patience(step_s=0.5, connect_s=1_000, email_s=1_000))


async def test_a_server_that_nobody_runs_is_away():
    server = SmtpServer()
    with pytest.raises(ServerAway, match="ConnectionRefusedError"):
        await send(config(server))
    server.stop()


# ------------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture(scope="session")
def authority():
    return trustme.CA()


@pytest.fixture
def trusted(authority, tmp_path, monkeypatch):
    """The authority is one of those that this machine trusts."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


def context_of(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_with_tls_the_password_is_sent_and_lets_in(authority, scheme):
    tls = context_of(authority.issue_cert("127.0.0.1"))
    with SmtpServer(tls=tls, implicit_tls=scheme == "smtps", password="p%s") as server:
        await send(config(server, scheme, "user:p%25s@"), EMAIL, EMAIL)
        assert (len(server.taken), server.connections) == (2, 1)
        await check_mail(config(server, scheme, "user:p%25s@"))
        with pytest.raises(ServerAway, match="AUTH 535"):
            await send(config(server, scheme, "user:wrong@"))
        with pytest.raises(OSError, match="AUTH 535"):
            await check_mail(config(server, scheme, "user:wrong@"))
        with pytest.raises(ServerAway, match="MAIL 530"):
            await send(config(server, scheme))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
@pytest.mark.parametrize("wrong", ["self-signed", "other name", "expired"])
async def test_a_wrong_certificate_is_refused_before_the_password_is_sent(authority, scheme, wrong):
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    certificate = {
        "self-signed": partial(trustme.CA().issue_cert, "127.0.0.1"),
        "other name": partial(authority.issue_cert, "mail.example"),
        "expired": partial(authority.issue_cert, "127.0.0.1", not_before=past, not_after=past),
    }[wrong]()
    with (
        SmtpServer(tls=context_of(certificate), implicit_tls=scheme == "smtps", password="p") as server,
        pytest.raises(ServerAway, match="SSLCertVerificationError"),
    ):
        await send(config(server, scheme, "user:p@"))
    assert "AUTH" not in server.steps
    assert server.taken == []


@pytest.mark.parametrize("answer", ["454 4.7.0 not now", "501 5.5.4 no", Act.CLOSE, Act.GARBAGE])
async def test_without_the_tls_that_was_offered_nothing_is_sent(authority, answer):
    with (
        SmtpServer(at("STARTTLS", answer), tls=context_of(authority.issue_cert("127.0.0.1"))) as server,
        pytest.raises(ServerAway, match="STARTTLS"),
    ):
        await send(config(server))
    assert "MAIL" not in server.steps


async def test_a_password_is_never_sent_in_the_clear():
    with SmtpServer() as server:
        with pytest.raises(ServerAway, match="no STARTTLS: the password would go over the wire in the clear"):
            await send(config(server, credentials="user:secret@"))
        with pytest.raises(OSError, match="no STARTTLS"):
            await check_mail(config(server, credentials="user:secret@"))
    assert "AUTH" not in server.steps


async def test_a_check_tries_the_sender():
    with (
        SmtpServer(at("MAIL", "550 5.7.1 not you")) as server,
        pytest.raises(OSError, match=r"takes nothing \(MAIL 550 5\.7\.1\)"),
    ):
        await check_mail(config(server))
    assert "RCPT" not in server.steps


async def test_an_email_that_is_cut_short_leaves_no_connection():
    with SmtpServer(at("DATA", Act.HANG)) as server:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, config(server))
            await trio.to_thread.run_sync(server.hangs.acquire)
            nursery.cancel_scope.cancel()
        await trio.to_thread.run_sync(server.left_alone.acquire)
    assert server.taken == []
