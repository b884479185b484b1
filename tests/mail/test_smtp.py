"""Send emails to an SMTP server that works, fails, misbehaves or hangs at each step, and check the errors."""

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
from svc.mail.smtp import AddressRefused, MailError, NotAccepted, OutcomeUnknown, Patience, ServerUnavailable
from svc.mail.transport import check_mail, new_sender
from tests.smtp_server import Act, SmtpServer

LINK = "https://svc.example/confirm?token=" + "x" * 90
EMAIL = Email(
    "ann@example.com", "Confirm your email address for svc", f"Open this link:\n\n{LINK}\n\nIt expires in 24 hours."
)
STEPS = ("welcome", "EHLO", "MAIL", "RCPT", "DATA", "taken")


def config(server: SmtpServer, scheme: str = "smtp", credentials: str = "", host: str = "127.0.0.1") -> MailConfig:
    url = f"{scheme}://{credentials}{host}:{server.port}"
    return MailConfig.model_validate({"transport": "smtp", "smtp_url": url, "from": "svc@example.com"})


def at(step, act):
    """Return a server rule that always applies `act` at this step."""
    return lambda name, said: act if name == step else None


async def send(configured, *emails, patience=None):
    """Send emails one after the other, as the outbox does."""
    sender = new_sender(configured, patience)
    try:
        for one in emails or (EMAIL,):
            await sender.connect()
            await sender.send(one)
    finally:
        await sender.rest()


def error_at(step):
    """Return the error class that is expected if the connection ends at this step."""
    return {"RCPT": NotAccepted, "DATA": NotAccepted, "taken": OutcomeUnknown}.get(step, ServerUnavailable)


async def test_email_arrives_unchanged():
    text = "Grüße an „Größe\N{RIGHT DOUBLE QUOTATION MARK}:\n.\n..\n.dots\n\n" + "ein Wort " * 300 + "\n\n" + LINK
    one = Email("ann@example.com", "Grüße " * 30, text + "\n\n" + "x" * 3_000)
    with SmtpServer() as server:
        await send(config(server), one)
    [taken] = server.taken  # the test server would have rejected 8-bit characters or long lines
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


async def test_emails_share_connection_that_is_replaced_after_close():
    def three_per_connection(step, said):
        return "421 4.7.0 enough" if step == "MAIL" and server.steps.count("MAIL") % 4 == 0 else None

    with SmtpServer(three_per_connection) as server:
        await send(config(server), *[EMAIL] * 10)
    assert (len(server.taken), server.connections) == (10, 4)


async def test_connection_is_reused_after_refused_email():
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
    ("step", "response", "error"),
    [
        ("welcome", "421 4.3.2 busy", ServerUnavailable),
        ("welcome", "554 5.7.1 not you", ServerUnavailable),
        ("EHLO", "421 4.3.2 busy", ServerUnavailable),
        ("EHLO", "550 5.7.1 no", ServerUnavailable),
        ("MAIL", "451 4.3.0 later", ServerUnavailable),
        ("MAIL", "550 5.7.1 not this sender", ServerUnavailable),
        ("MAIL", "530 5.7.0 sign in first", ServerUnavailable),
        ("RCPT", "450 4.2.0 greylisted", NotAccepted),
        ("RCPT", "421 4.7.0 too many", NotAccepted),
        ("RCPT", "552 too many recipients", NotAccepted),
        ("RCPT", "550 5.7.1 relaying denied", NotAccepted),
        ("RCPT", "530 sign in first", NotAccepted),
        ("RCPT", "503 5.5.1 no", NotAccepted),
        ("RCPT", "550 5.1.1 no such user", AddressRefused),
        ("RCPT", "554 5.1.8 sender address rejected: domain not found", NotAccepted),
        ("RCPT", "550 5.1.7 no such sender", NotAccepted),
        ("RCPT", "550 5.4.5 limit exceeded", NotAccepted),
        ("RCPT", "550 5.1.0 address rejected", NotAccepted),
        ("RCPT", "550 relay not permitted", NotAccepted),
        ("RCPT", "571 delivery not authorized", NotAccepted),
        ("RCPT", "552 5.2.2 mailbox full", AddressRefused),
        ("RCPT", "550 5.4.1 access denied", AddressRefused),
        ("RCPT", "556 5.1.10 no mail", AddressRefused),
        ("DATA", "451 4.3.0 later", NotAccepted),
        ("DATA", "554 5.5.1 no", NotAccepted),
        ("taken", "451 4.3.0 later", NotAccepted),
        ("taken", "554 5.7.1 that is spam", NotAccepted),
        ("taken", "550 5.1.1 who?", NotAccepted),
    ],
)
async def test_refusal_raises_matching_error(step, response, error):
    with SmtpServer(at(step, response)) as server, pytest.raises(error) as caught:
        await send(config(server))
    assert type(caught.value) is error
    assert response[:3] in str(caught.value)
    # the error must not contain the server's response, which may contain the address
    assert "user" not in str(caught.value)


@pytest.mark.parametrize(
    ("response", "known_domain", "other_domain"),
    [
        ("550 no such user", AddressRefused, NotAccepted),
        ("550 5.1.0 address rejected", AddressRefused, NotAccepted),
        ("550 5.0.0 rejected", AddressRefused, NotAccepted),
        ("550 5.1.1 no such user", AddressRefused, AddressRefused),
        ("554 5.1.8 sender address rejected: domain not found", NotAccepted, NotAccepted),
        ("550 5.7.1 relaying denied", NotAccepted, NotAccepted),
        ("530 sign in first", NotAccepted, NotAccepted),
    ],
)
async def test_unspecific_refusal_counts_against_address_only_in_accepted_domain(response, known_domain, other_domain):
    with SmtpServer(lambda step, said: response if step == "RCPT" and "ann@" not in said else None) as server:
        sender = new_sender(config(server))
        await sender.connect()
        await sender.send(EMAIL)
        for address, error in [("bob@Example.com", known_domain), ("bob@other.example", other_domain)]:
            await sender.connect()
            with pytest.raises(error):
                await sender.send(Email(address, "Subject", "text"))
        await sender.rest()


@pytest.mark.parametrize("act", [Act.CLOSE, Act.GARBAGE, Act.LONG_LINE, Act.FLOOD])
@pytest.mark.parametrize("step", STEPS)
async def test_server_that_closes_or_sends_garbage(step, act):
    with SmtpServer(at(step, act)) as server, pytest.raises(MailError) as caught:
        await send(config(server))
    if act is not Act.GARBAGE or step != "RCPT":
        assert type(caught.value) is error_at(step)
    assert not isinstance(caught.value, AddressRefused)


@pytest.mark.parametrize("act", ["500 what?", Act.CLOSE, Act.GARBAGE])
async def test_response_to_quit_does_not_matter(act):
    with SmtpServer(at("QUIT", act)) as server:
        await send(config(server))
    assert len(server.taken) == 1


@pytest.mark.parametrize("step", STEPS)
async def test_hanging_server_times_out(mock_clock, step):
    patience = Patience(step_s=10_000)  # the socket must not time out, because the test advances Trio's clock
    with SmtpServer(at(step, Act.HANG)) as server:
        async with trio.open_nursery() as nursery:
            outcome: list[MailError] = []

            async def give_up() -> None:
                try:
                    await send(config(server), patience=patience)
                except MailError as error:
                    outcome.append(error)

            nursery.start_soon(give_up)
            await trio.to_thread.run_sync(server.hangs.acquire)
            mock_clock.jump(patience.email_s)
    assert type(outcome[0]) is error_at(step)
    assert "timed out" in str(outcome[0])


@pytest.mark.parametrize("step", ["welcome", "RCPT"])
async def test_each_step_has_a_timeout(step):
    """Each step has a timeout. On a slow machine, an earlier step may exceed its timeout first."""
    with SmtpServer(at(step, Act.HANG)) as server, pytest.raises((ServerUnavailable, NotAccepted)):
        await send(config(server), patience=Patience(step_s=0.5, connect_s=1_000, email_s=1_000))


async def test_unreachable_server_is_unavailable():
    server = SmtpServer()
    with pytest.raises(ServerUnavailable, match="ConnectionRefusedError"):
        await send(config(server))
    server.stop()


# ------------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture(scope="session")
def authority():
    return trustme.CA()


@pytest.fixture
def trusted(authority, tmp_path, monkeypatch):
    """Make this process trust the certificate authority of the test server."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


def context_of(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_sign_in_over_tls(authority, scheme):
    tls = context_of(authority.issue_cert("127.0.0.1"))
    with SmtpServer(tls=tls, implicit_tls=scheme == "smtps", password="p%s") as server:
        await send(config(server, scheme, "user:p%25s@"), EMAIL, EMAIL)
        assert (len(server.taken), server.connections) == (2, 1)
        await check_mail(config(server, scheme, "user:p%25s@"))
        with pytest.raises(ServerUnavailable, match="AUTH 535"):
            await send(config(server, scheme, "user:wrong@"))
        with pytest.raises(OSError, match="AUTH 535"):
            await check_mail(config(server, scheme, "user:wrong@"))
        with pytest.raises(ServerUnavailable, match="MAIL 530"):
            await send(config(server, scheme))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
@pytest.mark.parametrize("wrong", ["self-signed", "other name", "expired"])
async def test_invalid_certificate_is_rejected_before_password_is_sent(authority, scheme, wrong):
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    certificate = {
        "self-signed": partial(trustme.CA().issue_cert, "127.0.0.1"),
        "other name": partial(authority.issue_cert, "mail.example"),
        "expired": partial(authority.issue_cert, "127.0.0.1", not_before=past, not_after=past),
    }[wrong]()
    with (
        SmtpServer(tls=context_of(certificate), implicit_tls=scheme == "smtps", password="p") as server,
        pytest.raises(ServerUnavailable, match="SSLCertVerificationError"),
    ):
        await send(config(server, scheme, "user:p@"))
    assert "AUTH" not in server.steps
    assert server.taken == []


@pytest.mark.parametrize("response", ["454 4.7.0 not now", "501 5.5.4 no", Act.CLOSE, Act.GARBAGE])
async def test_nothing_is_sent_if_offered_starttls_fails(authority, response):
    with (
        SmtpServer(at("STARTTLS", response), tls=context_of(authority.issue_cert("127.0.0.1"))) as server,
        pytest.raises(ServerUnavailable, match="STARTTLS"),
    ):
        await send(config(server))
    assert "MAIL" not in server.steps


async def test_password_is_never_sent_unencrypted():
    with SmtpServer() as server:
        with pytest.raises(ServerUnavailable, match="no STARTTLS: the password would be sent unencrypted"):
            await send(config(server, credentials="user:secret@"))
        with pytest.raises(OSError, match="no STARTTLS"):
            await check_mail(config(server, credentials="user:secret@"))
    assert "AUTH" not in server.steps


async def test_check_tries_sender():
    with (
        SmtpServer(at("MAIL", "550 5.7.1 not you")) as server,
        pytest.raises(OSError, match=r"does not accept emails \(MAIL 550 5\.7\.1\)"),
    ):
        await check_mail(config(server))
    assert "RCPT" not in server.steps


async def test_interrupted_email_leaves_no_connection():
    with SmtpServer(at("DATA", Act.HANG)) as server:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, config(server))
            await trio.to_thread.run_sync(server.hangs.acquire)
            nursery.cancel_scope.cancel()
        await trio.to_thread.run_sync(server.left_alone.acquire)
    assert server.taken == []
