"""Tests of `svc init`, which runs as a process, and of the first start."""

from __future__ import annotations

import json
import os
import re
import ssl
import stat
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import trustme
from pydantic import SecretStr

from edge_worker.harness.service import environment
from edge_worker.programs import open_program
from svc.cli import main
from svc.commands import packaged
from svc.commands.config_file import Answers, render, write
from svc.commands.welcome import welcome
from svc.config import Config, HttpConfig, MailConfig, StoreConfig, load
from tests.command_runs import ROOT, svc, svc_async
from tests.smtp_server import SmtpServer

PASSWORD = 'p@s:/% "?#\\'


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_init_yes_writes_options_and_defaults_and_overwrites_nothing(tmp_path):
    base = ("init", "--yes", "--data", "data")
    response = svc(tmp_path, *base, "--base-url", "https://svc.example.com/", SVC_HTTP_BASE_URL="")
    assert response.returncode == 0, response.stdout + response.stderr
    path = tmp_path / "config.toml"
    assert mode(path) == 0o600
    assert "and the backups, which contain vault.key, to another machine." in response.stdout
    config, data = load(path, {}), tmp_path / "data"
    assert (config.http.base_url, config.http.trusted_proxies) == ("https://svc.example.com", ("127.0.0.1", "::1"))
    assert config.store.url.get_secret_value() == f"sqlite:///{data}/svc.db"
    assert (config.vault.key_file, config.mail.folder) == (data / "vault.key", data / "mail")
    assert config.store.copies == str(data)
    assert config.auth.sign_up == "closed"
    assert (config.edge, config.limits, config.timing) == (Config().edge, Config().limits, Config().timing)
    assert (data / "svc.db").exists()  # the file exists because `svc init` has opened the store
    assert not (data / "vault.key").exists()
    # A commented-out setting shows its default value, so the configuration is still valid if the # is removed.
    uncommented = re.sub(r"^#(\w+ = )", r"\1", path.read_text(), flags=re.MULTILINE)
    assert Config.model_validate(tomllib.loads(uncommented)).edge == Config().edge

    before = path.read_bytes()
    response = svc(tmp_path, *base)
    assert (response.returncode, response.stderr) == (
        1,
        f"svc: {path} already exists; use --replace to rewrite it and keep its settings\n",
    )
    assert path.read_bytes() == before
    response = svc(tmp_path, *base, "--replace", "--bind", "127.0.0.1:1", "--unchecked")
    assert response.returncode == 0, response.stderr
    assert load(path, {}) == config.model_copy(update={"http": config.http.model_copy(update={"bind": "127.0.0.1:1"})})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--base-url", "svc.example"), "must be an http or https URL"),
        (("--bind", "8080"), "must be an address and a port"),
        (("--base-url", "https://a.example", "--trusted-proxies", "::1,proxy"), "[http] trusted_proxies.1: 'proxy'"),
        (("--data", "/proc/none"), "/proc/none cannot be created"),
        (("--store", "mysql://x"), "[store] url must begin with sqlite:/// or postgresql://"),
        (("--store", "postgresql://u:p[a@h/d"), "[store] url: is not a valid URL"),
        (("--smtp-url", "smtp://bob@[mail.example.com:587"), "[mail] smtp_url: is not a valid URL"),
        (("--mail-from", "no-address"), "[mail] from: must be an email address"),
        (("--trusted-proxies", "proxy"), "[http] trusted_proxies.0: 'proxy'"),
        (("--smtp-url", "smtp://127.0.0.1:1"), "connect ConnectionRefusedError"),
        (("--smtp-url", "smtp://127.0.0.1:1", "--mail-from", "no-address"), "must be an email address"),
    ],
)
def test_init_rejects_invalid_option_and_writes_nothing(tmp_path, options, why):
    response = svc(tmp_path, "init", "--yes", *options)
    assert (response.returncode, why in response.stderr) == (1, True), response.stderr
    assert "Traceback" not in response.stderr
    assert not (tmp_path / "config.toml").exists()


def test_init_uses_options_of_settings_that_it_does_not_ask_for(tmp_path):
    """Without a mail server or a public URL, `svc init` asks for neither the sender nor the proxies."""
    options = ("--mail-from", "svc@svc.example", "--trusted-proxies", "10.0.0.1")
    response = svc(tmp_path, "init", "--yes", "--unchecked", *options)
    assert response.returncode == 0, response.stderr
    config = load(tmp_path / "config.toml", {})
    assert (config.mail.transport, config.mail.sender) == ("file", "svc@svc.example")
    assert config.http.trusted_proxies == ("10.0.0.1",)


def test_init_asks_nothing_if_it_cannot_write_the_configuration(tmp_path):
    response = svc(tmp_path, "init", "--config", "new/config.toml")
    assert (response.returncode, response.stdout) == (1, "")
    assert response.stderr == f"svc: {tmp_path}/new is not a writable folder\n"


def test_init_shows_how_to_let_packaged_units_write_to_another_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(packaged, "CONFIG", tmp_path / "config.toml")
    monkeypatch.setattr(packaged, "UNIT", tmp_path / "svc.service")

    def init() -> str:
        options = ("--config", str(tmp_path / "config.toml"), "--data", str(tmp_path / "data"))
        with pytest.raises(SystemExit) as ended:
            main(["init", "--yes", "--replace", "--unchecked", *options])
        assert ended.value.code == 0
        shown: str = capsys.readouterr().out
        return shown

    assert "ReadWritePaths" not in init()  # there are no units
    (tmp_path / "svc.service").touch()
    shown = init()
    assert f"ReadWritePaths={tmp_path}/data\n" in shown
    assert "svc.service" in shown
    assert "svc-backup.service" in shown
    monkeypatch.setattr(packaged, "DATA", tmp_path)
    assert "ReadWritePaths" not in init()


def test_packaged_paths_match_the_units():
    unit = (ROOT / "packaging/systemd/svc.service").read_text()
    assert f"--config {packaged.CONFIG}\n" in unit
    assert f"StateDirectory={packaged.DATA.relative_to('/var/lib')}\n" in unit


def test_init_repeats_question_after_invalid_answer_and_result_can_send_email(tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    path = tmp_path / "etc/config.toml"
    path.parent.mkdir()
    path.write_text("[http]\n")
    path.chmod(0o640)
    with SmtpServer(tls=tls, implicit_tls=True, password=PASSWORD) as server:
        typed = [
            *("yes", "svc.example", "https://svc.example.com", "proxy", "10.0.0.0/8, ::1", str(tmp_path / "data")),
            *("sqlite:////proc/none/svc.db", "no", ""),
            "smtp://bob@[mail.example.com:587",
            *(f"smtps://user@127.0.0.1:{server.port}", "wrong", "", "no"),
            *(f"smtps://user@127.0.0.1:{server.port}", PASSWORD, "no-address", "mail@example.com"),
            *("nobody", "invite"),
        ]
        response = svc(
            *(tmp_path, "init", "--config", "etc/config.toml"),
            text="\n".join([*typed, ""]),
            SVC_HTTP_BASE_URL="",
            SSL_CERT_FILE=str(tmp_path / "ca.pem"),
        )
    stdout = response.stdout
    assert response.returncode == 0, stdout + response.stderr
    for expected in (
        "must be an http or https URL",
        "[http] trusted_proxies.0: 'proxy'",
        "FAIL: sqlite: ",
        "[mail] smtp_url: is not a valid URL",
        "[mail] from: must be an email address",
        "[auth] sign_up: must be 'open', 'invite' or 'closed'",
        "FAIL: smtp: the mail server does not accept emails (AUTH 535",
        "ok: transport smtp is ready",
        "svc serve --config etc/config.toml",
    ):
        assert expected in stdout, expected
    assert PASSWORD not in stdout
    config = load(path, {})
    assert config.auth.sign_up == "invite"
    assert config.http.trusted_proxies == ("10.0.0.0/8", "::1")
    assert config.mail.sender == "mail@example.com"
    assert config.mail.smtp_url.get_secret_value().endswith(f"@127.0.0.1:{server.port}")
    assert mode(path) == 0o640  # the file keeps its mode, which lets the group read it


def another(value):
    """Return a different value of the same type."""
    if isinstance(value, bool):
        return not value
    return [*value, "::1"] if isinstance(value, list) else value + 1


def every_setting_changed(data: Path) -> dict[str, dict[str, Any]]:
    """Return a configuration without any default values. The paths are in different folders."""
    changed = {
        section: {name: value if isinstance(value, str) else another(value) for name, value in settings.items()}
        for section, settings in tomllib.loads((ROOT / "config.toml").read_text()).items()
    }
    account = "0123456789abcdef" * 2
    changed["http"] |= {"bind": "127.0.0.1:18080", "base_url": "https://old.example.com"}
    changed["store"] |= {"url": f"sqlite:///{data}/kept.db", "copies": f"{data}/copies"}
    changed["edge"] |= {"api_base_url": "https://api.example.com/v4"}
    changed["worker"] |= {"push_url": "https://push.example.com/x", "canary": [account]}
    changed["vault"] |= {"key_file": f"{data.parent}/elsewhere/svc.key", "lost_tokens": "accept"}
    changed["mail"] |= {"transport": "smtp", "from": "me@example.com", "smtp_url": "smtp://a:b@127.0.0.1:1"}
    changed["mail"] |= {"folder": f"{data}/letters"}
    changed["metrics"] |= {"bind": "127.0.0.1:19090"}
    return changed


def written(settings: dict[str, dict[str, Any]]) -> str:
    return render({(section, name): value for section, of in settings.items() for name, value in of.items()})


@pytest.mark.parametrize("asked", [False, True])
def test_init_keeps_all_settings_of_existing_configuration(tmp_path, asked):
    before = every_setting_changed(tmp_path / "data")
    path = tmp_path / "config.toml"
    path.write_text(written(before))
    assert {name for section in before for name in before[section]} >= {"copies", "hours_kept_days", "canary"}
    options = () if asked else ("--yes", "--replace")
    response = svc(tmp_path, "init", "--unchecked", *options, text="yes\n" + "\n" * 7)
    assert response.returncode == 0, response.stdout + response.stderr
    assert tomllib.loads(path.read_text()) == before
    assert "a:b@" not in response.stdout


@pytest.mark.parametrize("proxies", ["", "none"])
def test_init_changes_only_answered_settings(tmp_path, proxies):
    before = every_setting_changed(tmp_path / "data")
    path = tmp_path / "config.toml"
    path.write_text(written(before))
    new = tmp_path / "new"
    options = ("--base-url=https://new.example.com", f"--data={new}", "--smtp-url=", f"--trusted-proxies={proxies}")
    response = svc(tmp_path, "init", "--yes", "--replace", "--unchecked", *options)
    assert response.returncode == 0, response.stderr
    before["http"] |= {"base_url": "https://new.example.com", "trusted_proxies": []}
    # Paths in the data folder move with that folder. The key file is in another folder.
    before["store"] |= {"url": f"sqlite:///{new}/kept.db", "copies": f"{new}/copies"}
    before["mail"] |= {"transport": "file", "smtp_url": "", "folder": f"{new}/letters"}
    assert tomllib.loads(path.read_text()) == before


def test_init_keeps_paths_of_packaged_configuration(tmp_path):
    """`svc init` keeps settings that it does not ask for, such as the folder for copies of the store."""
    text = (ROOT / "packaging/debian/config.toml").read_text().replace("/var/lib/svc", f"{tmp_path}/data")
    path = tmp_path / "config.toml"
    path.write_text(text)
    options = ("--base-url", "https://svc.example.com", "--data", f"{tmp_path}/data")
    assert svc(tmp_path, "init", "--yes", "--replace", *options).returncode == 0
    after, before = tomllib.loads(path.read_text()), tomllib.loads(text)
    assert after["http"].pop("trusted_proxies") == ["127.0.0.1", "::1"]
    before["http"]["base_url"] = "https://svc.example.com"
    before["auth"] = {"sign_up": "closed"}
    assert {section: of for section, of in after.items() if of} == before


def test_init_does_not_replace_invalid_configuration(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[http]\nbnid = 1\n")
    response = svc(tmp_path, "init", "--yes", "--replace")
    assert (response.returncode, path.read_text()) == (1, "[http]\nbnid = 1\n")
    assert "fix it, or move it aside" in response.stderr
    assert "did you mean bind?" in response.stderr


def test_init_writes_nothing_if_input_ends(tmp_path):
    response = svc(tmp_path, "init", text="https://svc.example.com\n")
    assert (response.returncode, response.stderr) == (
        1,
        "svc: no answer, nothing was written; use --yes to run without questions\n",
    )
    assert not (tmp_path / "config.toml").exists()


def test_configuration_written_by_root_belongs_to_owner_of_data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, 65_534, 65_534)
    write(tmp_path / "config.toml", render({}), folder.stat())
    written = (tmp_path / "config.toml").stat()
    assert (written.st_uid, written.st_gid) == ((65_534, 65_534) if is_root else (os.getuid(), os.getgid()))
    assert load(tmp_path / "config.toml", {}) == Config()
    with pytest.raises(ValueError, match="no such settings"):
        render({("http", "bnid"): "x"})
    odd: Answers = {("mail", "from"): 'a\x7f"\\\n€ <a@b.example>', ("http", "trusted_proxies"): ["::1"]}
    assert tomllib.loads(render(odd))["mail"]["from"] == odd["mail", "from"]


async def log_of_a_start(folder: Path, **settings: str) -> list[dict[str, Any]]:
    """Start a service, stop it as soon as it is ready, and return its log."""
    with tempfile.TemporaryFile() as log:
        process = await open_program(
            ["-m", "svc", "serve"], environ=environment(folder, settings), stderr=log.fileno(), folder=folder
        )
        assert process.stdout is not None
        assert await process.stdout.receive_some()
        process.terminate()
        await process.wait()
        await process.stdout.aclose()
        log.seek(0)
        return [json.loads(line) for line in log]


async def test_first_start_logs_welcome_until_user_exists(tmp_path):
    """Without a terminal, the service logs the welcome message at every start until a user exists."""
    store = {"SVC_STORE_URL": f"sqlite:///{tmp_path}/svc.db"}
    log = await log_of_a_start(tmp_path, SVC_MAIL_FOLDER="mail", **store)
    first = [line["message"] for line in log if line["logger"] == "svc.commands.serving"]
    expected = (
        f"its store {tmp_path}/svc.db",
        f"to {tmp_path}/mail); see `svc docs first-start`",
        "svc user add",
        "/help; API reference: ",
    )
    assert len(first) == 4
    assert all(part in line for part, line in zip(expected, first, strict=True)), first
    add = ("user", "add", "a@example.com", "--password-stdin")
    response = await svc_async(tmp_path, *add, text="long enough\n", **store)
    assert response.returncode == 0, response.stderr
    assert not [line for line in await log_of_a_start(tmp_path, **store) if line["logger"] == "svc.commands.serving"]


def test_welcome_shows_no_password_and_no_missing_settings():
    config = Config(
        http=HttpConfig(base_url="https://svc.example.com"),
        store=StoreConfig(url=SecretStr("postgresql://svc:hunter2@db:5432/svc?sslmode=require")),
        mail=MailConfig(transport="smtp", smtp_url=SecretStr("smtp://a:hunter2@b")),
    )
    text = "\n".join(welcome(config, "http://127.0.0.1:1", "https://svc.example.com", web=False, option=" --config x"))
    assert "hunter2" not in text
    for part in ("store postgresql://db:5432/svc ", "needs no further", "--confirmed --config x", "not included"):
        assert part in text


@pytest.mark.parametrize(
    ("before", "options", "expected"),
    [
        ("", (), "closed"),
        ("[http]\n", (), "closed"),
        ('[http]\nbase_url = "https://svc.example.com"\n', (), "open"),
        ('[auth]\nsign_up = "invite"\n', (), "invite"),
        ('[auth]\nsign_up = "invite"\n', ("--sign-up", "open"), "open"),
    ],
)
def test_init_closes_sign_up_only_for_a_new_service(tmp_path, before, options, expected):
    path = tmp_path / "config.toml"
    path.write_text(before)
    response = svc(tmp_path, "init", "--yes", "--replace", "--unchecked", *options)
    assert response.returncode == 0, response.stderr
    assert load(path, {}).auth.sign_up == expected
