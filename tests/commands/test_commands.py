"""Tests of the operator's commands: output, effects, and exit status."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import termios
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO

import pytest
import trio
from pydantic import SecretStr

from edge_worker.harness.service import eventually
from svc import cli
from svc.clock import DAY_MS, system_clock
from svc.commands.checks.address import check_metrics
from svc.config import Config, MetricsConfig, StoreConfig, VaultConfig
from svc.model import User
from svc.security.passwords import verify_password
from svc.security.vault import open_vault
from svc.store import open_store, rollouts, users
from svc.store.service_state import record_backup
from svc.store.tx import Tx, sql
from svc.worker.bundle import load_bundle
from tests.cheap_passwords import AS_IT_IS
from tests.command_runs import ROOT, svc, svc_async, svc_process
from tests.http.stand_in import connected
from tests.journeys.conftest import free_port
from tests.store.makers import a_site, an_account


def store_of(folder: Path) -> StoreConfig:
    (folder / "var").mkdir(exist_ok=True)
    return StoreConfig(url=SecretStr(f"sqlite:///{folder / 'var/svc.db'}"))


def make_store(folder: Path) -> None:
    async def make() -> None:
        async with open_store(store_of(folder)):
            pass

    trio.run(make)


def make_account(folder: Path, *, site: str | None = None) -> str:
    """Add an account to the folder's store, and a site with the host `site` if given. Return the account's id."""

    async def make() -> str:
        async with open_store(store_of(folder)) as store:
            account_id = await store.run(an_account())
            if site is not None:
                await store.run(a_site(account_id, site))
            return account_id

    return trio.run(make)


def user_of(folder: Path, email: str) -> tuple[User, str] | None:
    async def find() -> tuple[User, str] | None:
        async with open_store(store_of(folder)) as store:
            return await store.read(users.find_user(email))

    return trio.run(find)


def seal_a_token(folder: Path) -> None:
    """Create an account with a token that is sealed with the folder's key file."""

    async def connect() -> None:
        async with open_store(store_of(folder)) as store:
            user = await store.run(users.add_user("ann@example.com", "hash", 1, confirmed=True))
            assert user is not None
            account = await store.run(connected(user.id, "a" * 32, "ready", 1))
            vault = open_vault(VaultConfig(key_file=folder / "var/vault.key"), {})
            await store.run(_put_token(account.id, vault.seal("cfat_secret", account.id)))

    trio.run(connect)


def _put_token(account_id, sealed):
    from svc.store.tx import sql

    yield sql("update accounts set sealed_token = $2 where id = $1", account_id, sealed)


def test_version(tmp_path):
    response = svc_process(tmp_path, "--version")
    assert (response.returncode, response.stdout) == (0, "svc 0.8.0\n")


def test_health_uses_configured_address_and_imports_little(tmp_path):
    """Process supervisors run `svc health` twice a minute, so the command must start quickly and not import large
    packages.
    """
    bind = free_port()  # reserved, so that no other program listens there during the test
    (tmp_path / "config.toml").write_text(f'[http]\nbind = "{bind}"\n')
    (tmp_path / "other.toml").write_text("http = 1\n[store\n")
    for arguments, settings, why in (
        ((), {}, f"http://{bind}: [Errno 111]"),
        ((), {"SVC_HTTP_BIND": "0.0.0.0:1"}, "http://127.0.0.1:1: [Errno 111]"),
        ((), {"SVC_HTTP_BIND": "[::]:0"}, "set the address with --url"),
        (("--config", "other.toml"), {}, "Expected ']'"),
        (("--config", "none.toml"), {}, "No such file"),
        (("--url", "svc.example"), {}, "must be an http or https address"),
    ):
        response = svc(tmp_path, "health", *arguments, **settings)
        assert (response.returncode, response.stdout) == (1, "")
        assert why in response.stderr
        assert len(response.stderr.splitlines()) == 1
    response = svc_process(tmp_path, "health", PYTHONPROFILEIMPORTTIME="1")
    loaded = {line.rpartition("|")[2].strip() for line in response.stderr.splitlines()}
    assert "http.client" in loaded
    assert not {"pydantic", "trio", "svc.config", "importlib.metadata"} & loaded


@pytest.mark.parametrize(("status", "ends"), [("200 OK", 0), ("404 Not Found", 1), ("nonsense", 1)])
def test_health_depends_on_response_of_healthz(tmp_path, status, ends):
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as threads:

        def respond_once() -> bytes:
            client, _ = listening.accept()
            with client:
                request = client.recv(1_000)
                client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
            return request

        request = threads.submit(respond_once)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/below/"
        response = svc_process(tmp_path, "health", "--url", url)
        assert request.result().startswith(b"GET /below/healthz HTTP/1.1\r\n")
    assert response.returncode == ends
    assert (response.stdout, bool(response.stderr)) == ((f"{url} is healthy\n", False) if not ends else ("", True))


def test_check_passes_and_creates_no_files(tmp_path):
    response = svc_process(tmp_path, "check")
    assert response.returncode == 0, response.stdout + response.stderr
    assert "will be created at the first start" in response.stdout
    assert "ok   store: sqlite: There is no store" in response.stdout
    assert list(tmp_path.iterdir()) == []


def test_commands_for_existing_store_do_not_create_one(tmp_path):
    """A mistyped store URL must cause an error."""
    plan = ["user", "plan", "a@b.example", "api"]
    for arguments in (["store", "recovered"], ["vault", "rotate"], ["rollout", "status"], plan):
        response = svc(tmp_path, *arguments)
        assert (response.returncode, "There is no store" in response.stderr) == (1, True), response.stdout
    assert not (tmp_path / "var/svc.db").exists()
    assert not (tmp_path / "var/vault.key").exists()


def test_check_detects_full_disk(tmp_path):
    """A limit on the file size has the same effect on SQLite as a full disk, because SQLite's log cannot grow."""
    path = store_of(tmp_path).path
    make_store(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as held:  # an open connection keeps the log file
        held.execute("update serving set looks = 1")
        limit = path.with_name("svc.db-wal").stat().st_size
        program = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
        (tmp_path / "sitecustomize.py").write_text(program)
        response = svc_process(tmp_path, "check", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert (response.returncode, "FAIL store: sqlite: The service's store does not work" in response.stdout) == (
        1,
        True,
    )


@pytest.mark.rule("X17")
@pytest.mark.parametrize(
    ("age_days", "status", "message"), [(1, 0, "the last backup is from"), (3, 1, "more than two days ago")]
)
def test_check_fails_if_last_backup_is_old(tmp_path, age_days, status, message):
    async def note() -> None:
        async with open_store(store_of(tmp_path)) as store:
            await store.run(record_backup(system_clock() - age_days * DAY_MS))

    trio.run(note)
    response = svc(tmp_path, "check")
    assert (response.returncode, message in response.stdout) == (status, True), response.stdout


@pytest.mark.rule("X7")
def test_check_reports_rollout_progress_and_how_to_resume(tmp_path):
    make_store(tmp_path)
    assert "all installed Workers have the current version" in svc(tmp_path, "check").stdout

    create_rollout(tmp_path, "running")
    response = svc(tmp_path, "check")
    assert (response.returncode, "3 updated, 4 failed, 1 on another version" in response.stdout) == (0, True)
    response = svc(tmp_path, "check", SVC_WORKER_AUTO_UPDATE="false")
    assert (response.returncode, "auto_update is off" in response.stdout) == (0, True)
    create_rollout(tmp_path, "halted")
    response = svc(tmp_path, "check")
    assert response.returncode == 1
    [failed] = [line for line in response.stdout.splitlines() if line.startswith("FAIL")]
    for text in ("the rollout is halted (failures): 4 failed, 3 updated", "svc rollout resume", "newer version"):
        assert text in failed


def create_rollout(folder: Path, state: str) -> None:
    """Create a rollout in this state. Unless the rollout is halted, also create an account with an older Worker."""

    def made() -> Tx[None]:
        rollout = yield from rollouts.begin(load_bundle().sha256, 1)
        yield sql("update rollouts set updated = 3, failed = 4")
        if state == "halted":
            yield from rollouts.stop(rollout, "failures", 2)
        else:
            yield sql("update accounts set edge_bundle = 'old' where id = $1", (yield from an_account()))

    async def make() -> None:
        async with open_store(store_of(folder)) as store:
            await store.run(made())

    trio.run(make)


def create_rollout_with_outcomes(folder: Path) -> None:
    """Create a rollout with five accounts: updated, failed, skipped, in progress, and on another version."""
    outcomes = {"updated": None, "failed": "self_check_timeout", "excused": "resource_drift", None: None}

    def made() -> Tx[None]:
        rollout = yield from rollouts.begin(load_bundle().sha256, 1)
        for outcome, code in outcomes.items():
            yield sql(
                "insert into rollout_accounts (account_id, operation_id, outcome, code) values ($1, $1, $2, $3)",
                (yield from an_account()),
                outcome,
                code,
            )
        yield sql("update accounts set edge_bundle = $1", rollout.bundle)
        yield sql("update accounts set edge_bundle = 'old' where id = $1", (yield from an_account()))

    async def make() -> None:
        async with open_store(store_of(folder)) as store:
            await store.run(made())

    trio.run(make)


@pytest.mark.rule("X7")
def test_rollout_status_halt_and_resume(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(["rollout", *arguments])
        found = capsys.readouterr()
        return ended.value.code, found.out + found.err

    make_store(tmp_path)
    assert run("status") == (
        0,
        "no rollout has started; a service with a newer Worker starts one\n",
    )
    assert run("halt") == (1, "svc: no rollout has started\n")
    assert run("resume") == (1, "svc: no rollout has started\n")
    create_rollout_with_outcomes(tmp_path)
    code, text = run("status")
    lines = text.splitlines()
    assert (code, lines[1]) == (0, "state   running, since 1970-01-01T00:00:00.001Z")
    assert lines[3] == "next    the other accounts, after the canary accounts have run the new Worker for 7200 s"
    assert [" ".join(line.split()) for line in lines[5:]] == [
        "updated 1",
        "running 1",
        "failed 1 self_check_timeout 1",
        "skipped 1 resource_drift 1",
        "on another version 1",
    ]
    assert run("resume") == (1, "svc: the rollout is running, not halted\n")
    assert run("halt") == (0, "halted; running updates continue\n")
    assert run("halt") == (1, "svc: the rollout is already halted\n")
    assert "state   halted: by svc rollout halt, since 20" in run("status")[1]
    [workers] = [line for line in svc(tmp_path, "check").stdout.splitlines() if " workers:" in line]
    assert workers.startswith("ok   workers: the rollout is halted (operator)")
    assert run("resume") == (0, "resumed; the running service continues at its next poll\n")
    text = run("status")[1]
    assert "state   running" in text
    assert "self_check_timeout" not in text  # an update that will be retried is not listed as failed


@pytest.mark.parametrize(
    ("settings", "part", "text"),
    [
        ({"SVC_VAULT_KEY_FILE": "."}, "key file", "cannot be used"),
        ({"SVC_VAULT_KEY_FILE": "file/key"}, "key file", "cannot be used"),
        ({"SVC_MAIL_FOLDER": "file/mail"}, "mail", "check [mail]"),
        ({"SVC_MAIL_FOLDER": "open"}, "mail", "chmod 700 open"),
        ({"SVC_STORE_URL": "sqlite:///file/svc.db"}, "store", "check [store] url"),
        ({"SVC_STORE_URL": "postgresql://127.0.0.1:1/none"}, "store", "check [store] url"),
        ({"SVC_HTTP_BASE_URL": ""}, "address", "set [http] base_url"),
        ({"SVC_HTTP_BASE_URL": "https://192.0.2.1"}, "address", "an IP address"),
        ({"SVC_METRICS_BIND": "1.1.1.1:9090"}, "metrics", "is a public address, and metrics need no password"),
        ({"SVC_METRICS_BIND": "[2606:4700::1]:9090"}, "metrics", "bind to a private address"),
        ({"SVC_WEB_LOGO": "file"}, "identity", "[web] logo: file is neither a PNG nor an SVG file"),
    ],
)
def test_check_reports_failure_and_checks_other_parts(tmp_path, settings, part, text):
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    tmp_path.chmod(0o700)
    response = svc(tmp_path, "check", **settings)
    assert response.returncode == 1
    assert response.stderr == ""
    failed = [line for line in response.stdout.splitlines() if line.startswith("FAIL")]
    assert len(failed) == 1
    assert failed[0].startswith(f"FAIL {part}: ")
    assert text in failed[0]
    assert len(response.stdout.splitlines()) == 16


@pytest.mark.rule("X14")
@pytest.mark.parametrize(
    ("bind", "text"),
    [
        ("", "disabled"),
        ("127.0.0.1:9090", "on this machine only"),
        ("[::1]:9090", "on this machine only"),
        ("localhost:9090", "on this machine only"),
        ("10.1.2.3:9090", "allow access only from the scraper"),
        ("metrics.internal:9090", "allow access only from the scraper"),
    ],
)
def test_check_reports_who_can_read_metrics(bind, text):
    found = check_metrics(Config(metrics=MetricsConfig(bind=bind)))
    assert found.verdict == "ok"
    assert text in found.text


@pytest.mark.rule("X14")
@pytest.mark.parametrize("host", ["0.0.0.0", "0", "[::]", "[0::0]", "[::ffff:0:0]"])
def test_check_warns_if_metrics_bind_to_all_addresses(host):
    """In containers, it is common to serve metrics on all addresses, because only published ports are accessible.
    Therefore, the check only warns.
    """
    found = check_metrics(Config(metrics=MetricsConfig(bind=f"{host}:9090")))
    assert found.verdict == "warn"
    assert (
        "metrics need no password; bind to a private address, or publish the container's port only to the scraper"
        in found.text
    )


def test_warning_does_not_fail_check(tmp_path):
    response = svc(tmp_path, "check", SVC_WORKER_ALLOW_LOCAL_PUSH="true")
    assert response.returncode == 0, response.stdout
    assert "\nwarn address: [worker] allow_local_push is set" in response.stdout
    assert "FAIL" not in response.stdout


def test_start_fails_if_metrics_address_is_in_use(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        response = svc(tmp_path, "serve", SVC_HTTP_BIND="127.0.0.1:0", SVC_METRICS_BIND=bind)
    assert response.returncode == 1
    assert f"[metrics] bind: cannot listen on {bind}" in response.stderr
    assert "Traceback" not in response.stderr


def test_start_fails_without_key_of_sealed_tokens_and_creates_no_key(tmp_path):
    seal_a_token(tmp_path)
    assert "decrypts 1 token" in svc(tmp_path, "check").stdout
    key_file = tmp_path / "var/vault.key"
    key = key_file.read_bytes()
    key_file.unlink()
    for command in ("check", "serve"):
        response = svc(tmp_path, command, SVC_HTTP_BIND="127.0.0.1:0")
        assert response.returncode == 1
        assert "does not exist, but the store has tokens that need it (1)" in response.stdout + response.stderr
        assert "Traceback" not in response.stderr
        assert not key_file.exists()
    key_file.touch(0o600)
    key_file.write_bytes(key)
    assert svc(tmp_path, "check").returncode == 0


@pytest.mark.rule("X2")
def test_import_skips_restricted_links_unless_included(tmp_path):
    account_id = make_account(tmp_path)
    url = "https://a.example/"
    rows = (
        f"open,{url},f,,\nbanned,{url},t,,\nsecret,{url},f,$2b$,\nover,{url},f,,2020-01-01\nlater,{url},f,,2099-01-01\n"
    )
    (tmp_path / "links.csv").write_text(f"address,target,banned,password,expire_in\n{rows}")
    command = ("import", "links", "links.csv", "--account", account_id)
    response = svc(tmp_path, *command)
    assert (response.returncode, response.stdout.splitlines()) == (
        0,
        [
            "codes from column `address`, destinations from `target`",
            "restrictions from `banned`, `password`, `expire_in`",
            "1 row skipped: banned or marked as unsafe in the other product",
            "1 row skipped: expired in the other product",
            "1 row skipped: password-protected in the other product",
            "To import these rows without the restrictions, add --include banned,expired,password.",
            "1 row with a future start or expiry date, which the service applies",
            "5 rows: 2 links to import, 0 already imported, 0 invalid",
            "This was a dry run. To import the links, add --apply.",
        ],
    )
    response = svc(tmp_path, *command, "--apply", "--include", "expired, password")
    assert "1 row included: expired in the other product\n" in response.stdout
    assert "The links work without a password here" in response.stdout
    assert "5 rows: 4 links imported" in response.stdout
    response = svc(tmp_path, *command, "--include", "all")
    assert (response.returncode, "`all` must be one of banned, deleted" in response.stderr) == (2, True)


UNKNOWN_USER = ("--user", "unknown@example.com")


@pytest.mark.rule("X2", "X4")
@pytest.mark.parametrize(
    ("kind", "text", "arguments", "why"),
    [
        ("links", "code,url\n", (), "select the account with --account, or its user with --user"),
        ("links", "code,url\n", UNKNOWN_USER, "no such account"),
        ("links", "code,url\n", ("--apply", "--dry-run"), "cannot be combined"),
        ("links", "a,b\n", UNKNOWN_USER, "no known columns for codes and destinations"),
        ("totals", "day,views\n", (), "select the user with --user, or the account with --account"),
        ("totals", "day,views\n", UNKNOWN_USER, "no such account"),
        ("totals", "day,views\n", ("--apply", "--dry-run"), "cannot be combined"),
        ("totals", "day,views\n", ("--site", "a..\u00fc/b", *UNKNOWN_USER), "not a valid host name"),
        ("totals", "\x1b[2J,b\n", UNKNOWN_USER, "first line are not those of a known product: \ufffd[2j, b"),
        ("totals", "", UNKNOWN_USER, "the file is empty"),
    ],
)
def test_impossible_import_reports_reason(tmp_path, kind, text, arguments, why):
    (tmp_path / "export.csv").write_text(text)
    response = svc(tmp_path, "import", kind, "export.csv", *arguments)
    assert response.returncode == 1
    assert why in response.stderr
    assert "Traceback" not in response.stderr


@pytest.mark.rule("X4")
def test_totals_are_imported_once_after_dry_run(tmp_path):
    account_id = make_account(tmp_path, site="xn--mnchen-3ya.example")
    (tmp_path / "export.csv").write_text("date,visitors,pageviews,bounces\n2020-01-01,5,12,1\n2020-01-02,1,2,1\n")
    of = ("export.csv", "--site", "M\u00fcnchen.example", "--account", account_id)
    for arguments, added in (
        ((), "2 days to import"),
        (("--apply",), "2 days imported"),
        (("--apply",), "0 days imported"),
    ):
        response = svc(tmp_path, "import", "totals", *of, *arguments)
        assert response.returncode == 0, response.stderr
        assert "Plausible's export of a site; columns used: date, pageviews, visitors" in response.stdout
        assert f"{added}; 0 lines invalid" in response.stdout
        assert ("This was a dry run" in response.stdout) == (arguments == ())
    (tmp_path / "export.csv").write_text("day,views\n2020-01-01,99\n2020-01-03,\u00e9\n")
    response = svc_process(tmp_path, "import", "totals", *of, "--apply", PYTHONIOENCODING="ascii")
    assert response.returncode == 1
    assert "line 3: views is `?`" in response.stdout
    assert "1 day (2020-01-01) with different numbers" in response.stdout


@pytest.mark.rule("X2", "X4")
def test_imported_file_cannot_control_terminal(tmp_path):
    account_id = make_account(tmp_path)
    clear = "\x1b[2J\x9b2J"
    (tmp_path / "links.csv").write_text(f"code{clear},url\n{clear},https://a.example/\nabc,{clear}\n")
    rows = f"site,,a{clear}.example,,2020-01-01,1\nsite,,a.example,,2020-01-01,{clear}\n"
    (tmp_path / "totals.csv").write_text(f"kind,edge_account_id,name,target,day,views\n{rows}")
    for kind in ("links", "totals"):
        response = svc(tmp_path, "import", kind, f"{kind}.csv", "--account", account_id)
        assert (response.returncode, "Traceback" in response.stderr) == (1, False)
        assert "\N{REPLACEMENT CHARACTER}[2J" in response.stdout + response.stderr
        assert not {"\x1b", "\x9b"} & {*response.stdout, *response.stderr}


@pytest.mark.rule("X2", "X4")
def test_import_into_locked_store_reports_progress(tmp_path):
    """For example, a backup may lock the store. The command waits up to five seconds for the lock."""
    account_id = make_account(tmp_path, site="shop.example.com")
    (tmp_path / "totals.csv").write_text("day,views\n2020-01-01,12\n")
    (tmp_path / "links.csv").write_text("code,url\nabc,https://a.example/\n")
    with closing(sqlite3.connect(tmp_path / "var/svc.db", isolation_level=None)) as connection:
        connection.execute("begin immediate")
        to = ("--account", account_id, "--apply")
        commands = [("totals", "totals.csv", "--site", "shop.example.com", *to), ("links", "links.csv", *to)]
        responses = trio.run(all_responses, tmp_path, commands)
    for response, where in zip(responses, ("shop.example.com (site)", "line 2"), strict=True):
        assert response.returncode == 1
        assert f"stopped at {where}: Another program has locked the service's store." in response.stdout
        assert "Traceback" not in response.stderr


async def all_responses(folder: Path, commands: list[tuple[str, ...]]) -> list[subprocess.CompletedProcess[str]]:
    """Run imports concurrently, and return their results in the same order."""
    responses: dict[int, subprocess.CompletedProcess[str]] = {}

    async def run(number: int) -> None:
        responses[number] = await svc_async(folder, "import", *commands[number])

    async with trio.open_nursery() as nursery:
        for number in range(len(commands)):
            nursery.start_soon(run, number)
    return [responses[number] for number in range(len(commands))]


def test_interrupted_command_prints_message(tmp_path):
    os.mkfifo(tmp_path / "links.csv")
    # Restore the default handling of SIGINT. A shell makes background processes ignore it, and their children inherit
    # this.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "svc"]
    command += ["import", "links", "links.csv", "--user", "ann@example.com"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (
        subprocess.Popen(command, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True) as process,
        (tmp_path / "links.csv").open("wb", buffering=0) as pipe,  # blocks until the command opens the file
    ):
        pipe.write(b"url")
        # Wait until the command is in its blocking read. If the signal arrived just before the read, Python would
        # handle it only after the read.
        trio.run(eventually, partial(is_waiting_for_more, process.pid, pipe))
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (1, "svc: interrupted\n")


async def is_waiting_for_more(pid: int, pipe: IO[bytes]) -> bool | None:
    """Return True if a process has read everything from a pipe, and its main thread is waiting; otherwise None."""
    await trio.lowlevel.checkpoint()
    [unread] = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return True if unread == 0 and state == "S" else None


def test_user_add_applies_rules_of_api(tmp_path):
    for email, password in (
        ("@", "long enough"),
        ("ann@localhost", "long enough"),
        ("=?utf-8?q?a=0d=0ab?=@example.com", "long enough"),
        ("ann@example.com", "x" * 201),
        ("ann@example.com", "short"),
        ("ann@example.com", ""),
    ):
        response = svc(tmp_path, "user", "add", email, "--password-stdin", text=f"{password}\n")
        assert response.returncode == 1
        if password == "":
            assert response.stderr == "svc: no password was entered\n"
        else:
            assert response.stderr.startswith(("svc: email must be", "svc: password must have"))
        assert password == "" or password not in response.stderr
    add = ("user", "add", "Ann@Example.com", "--password-stdin", "--confirmed")
    added = svc_process(tmp_path, *add, text="long enough\n")
    assert (added.returncode, added.stderr) == (0, "")
    assert added.stdout == f"user ann@example.com added to {tmp_path / 'var/svc.db'}\n"
    found = user_of(tmp_path, "ann@example.com")
    assert found is not None
    assert (found[0].email, found[0].email_confirmed) == ("ann@example.com", True)
    assert verify_password(found[1], "long enough")
    assert not AS_IT_IS.check_needs_rehash(found[1])
    again = svc(tmp_path, "user", "add", "ann@example.com", "--password-stdin", text="long enough\n")
    assert (again.returncode, again.stderr) == (1, "svc: user ann@example.com already exists\n")


def test_configuration_in_a_folder_of_another_user_is_ignored(tmp_path, monkeypatch):
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "config.toml").write_text("")
    monkeypatch.chdir(folder)
    assert cli._config_path(None) == Path("config.toml")
    folder.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)  # root can read every folder
        assert cli._config_path(None) is None
    finally:
        os.seteuid(user)
        folder.chmod(0o700)
