"""The operator's commands, as processes: what they say, what they make, and how they end."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import trio
from pydantic import SecretStr

from svc import cli
from svc.clock import DAY_MS, system_clock
from svc.commands import check
from svc.config import Config, MetricsConfig, StoreConfig, VaultConfig
from svc.model import User
from svc.security.passwords import verify_password
from svc.security.vault import open_vault
from svc.store import open_store, rollouts, users
from svc.store.service_state import note_backup
from svc.store.tx import Tx, sql
from svc.worker.bundle import load_bundle
from tests.cheap_passwords import AS_IT_IS
from tests.command_runs import ROOT, svc, svc_async, svc_process
from tests.http.stand_in import connected
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
    """Add an account to the store of the folder, and a site if its host is given. Return the account's id."""

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
    """An account whose token is sealed with the key file of the folder."""

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


def test_the_version(tmp_path):
    answer = svc_process(tmp_path, "--version")
    assert (answer.returncode, answer.stdout) == (0, "svc 0.8.0\n")


def test_the_health_of_a_service_is_asked_where_it_listens_and_costs_little(tmp_path):
    """A supervisor asks it twice a minute for as long as the service runs: nothing large is loaded for it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:  # nobody accepts, nobody answers
        bind = f"127.0.0.1:{silent.getsockname()[1]}"
        (tmp_path / "config.toml").write_text(f'[http]\nbind = "{bind}"\n')
    (tmp_path / "other.toml").write_text("http = 1\n[store\n")
    for arguments, settings, why in (
        ((), {}, f"http://{bind}: [Errno 111]"),
        ((), {"SVC_HTTP_BIND": "0.0.0.0:1"}, "http://127.0.0.1:1: [Errno 111]"),
        ((), {"SVC_HTTP_BIND": "[::]:0"}, "name the address with --url"),
        (("--config", "other.toml"), {}, "Expected ']'"),
        (("--config", "none.toml"), {}, "No such file"),
        (("--url", "svc.example"), {}, "must be an http or https address"),
    ):
        answer = svc(tmp_path, "health", *arguments, **settings)
        assert (answer.returncode, answer.stdout) == (1, "")
        assert why in answer.stderr
        assert len(answer.stderr.splitlines()) == 1
    answer = svc_process(tmp_path, "health", PYTHONPROFILEIMPORTTIME="1")
    loaded = {line.rpartition("|")[2].strip() for line in answer.stderr.splitlines()}
    assert "http.client" in loaded
    assert not {"pydantic", "trio", "svc.config", "importlib.metadata"} & loaded


@pytest.mark.parametrize(("status", "ends"), [("200 OK", 0), ("404 Not Found", 1), ("nonsense", 1)])
def test_a_service_is_well_that_answers_its_health(tmp_path, status, ends):
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as threads:

        def answer_once() -> bytes:
            client, _ = listening.accept()
            with client:
                asked = client.recv(1_000)
                client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
            return asked

        asked = threads.submit(answer_once)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/below/"
        answer = svc_process(tmp_path, "health", "--url", url)
        assert asked.result().startswith(b"GET /below/healthz HTTP/1.1\r\n")
    assert answer.returncode == ends
    assert (answer.stdout, bool(answer.stderr)) == ((f"{url} answers\n", False) if not ends else ("", True))


def test_a_check_finds_all_well_and_makes_nothing(tmp_path):
    answer = svc_process(tmp_path, "check")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "will be made at the first start" in answer.stdout
    assert "ok   store: sqlite: There is no store" in answer.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_command_for_a_store_that_is_there_makes_none(tmp_path):
    """A mistyped address would be told as done."""
    plan = ["user", "plan", "a@b.example", "api"]
    for arguments in (["store", "recovered"], ["vault", "rotate"], ["rollout", "status"], plan):
        answer = svc(tmp_path, *arguments)
        assert (answer.returncode, "There is no store" in answer.stderr) == (1, True), answer.stdout
    assert not (tmp_path / "var/svc.db").exists()
    assert not (tmp_path / "var/vault.key").exists()


def test_a_check_finds_a_full_disk(tmp_path):
    """A limit on the size of files is what a full disk is to SQLite: its log cannot grow."""
    path = store_of(tmp_path).path
    make_store(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as held:  # so that the log stays
        held.execute("update serving set looks = 1")
        limit = path.with_name("svc.db-wal").stat().st_size
        program = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
        (tmp_path / "sitecustomize.py").write_text(program)
        answer = svc_process(tmp_path, "check", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert (answer.returncode, "FAIL store: sqlite: The service's store does not work" in answer.stdout) == (1, True)


@pytest.mark.rule("X17")
@pytest.mark.parametrize(("age_days", "status", "told"), [(1, 0, "was made on"), (3, 1, "more than two days ago")])
def test_a_check_tells_when_the_last_backup_is_old(tmp_path, age_days, status, told):
    async def note() -> None:
        async with open_store(store_of(tmp_path)) as store:
            await store.run(note_backup(system_clock() - age_days * DAY_MS))

    trio.run(note)
    answer = svc(tmp_path, "check")
    assert (answer.returncode, told in answer.stdout) == (status, True), answer.stdout


@pytest.mark.rule("X7")
def test_a_check_tells_how_far_the_update_of_workers_is_and_what_ends_a_halt(tmp_path):
    make_store(tmp_path)
    assert "all that are installed are of this version" in svc(tmp_path, "check").stdout

    update_of_workers(tmp_path, "running")
    answer = svc(tmp_path, "check")
    assert (answer.returncode, "3 updated, 4 failed, 1 of another version" in answer.stdout) == (0, True)
    answer = svc(tmp_path, "check", SVC_WORKER_AUTO_UPDATE="false")
    assert (answer.returncode, "auto_update is off" in answer.stdout) == (0, True)
    update_of_workers(tmp_path, "halted")
    answer = svc(tmp_path, "check")
    assert answer.returncode == 1
    [failed] = [line for line in answer.stdout.splitlines() if line.startswith("FAIL")]
    for text in ("their update is halted (failures): 4 failed, 3 went well", "svc rollout resume", "newer version"):
        assert text in failed


def update_of_workers(folder: Path, state: str) -> None:
    """An account with an older worker, and how far its update is."""

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


def of_accounts(folder: Path) -> None:
    """A rollout with an account that is updated, one whose update failed, one that is left alone, one of which the
    update is under way, and one of another version."""
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
def test_the_update_of_workers_is_looked_at_halted_and_resumed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def said(*arguments: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(["rollout", *arguments])
        found = capsys.readouterr()
        return ended.value.code, found.out + found.err

    make_store(tmp_path)
    assert said("status") == (
        0,
        "no update of workers has begun; a service with a newer worker begins it when it runs\n",
    )
    assert said("halt") == (1, "svc: no update of workers has begun\n")
    assert said("resume") == (1, "svc: no update of workers has begun\n")
    of_accounts(tmp_path)
    code, text = said("status")
    lines = text.splitlines()
    assert (code, lines[1]) == (0, "state   running, since 1970-01-01T00:00:00.001Z")
    assert lines[3] == "next    the other accounts, when the first ones have run the new worker for 7200 s"
    assert [" ".join(line.split()) for line in lines[5:]] == [
        "updated 1",
        "under way 1",
        "failed 1 self_check_timeout 1",
        "left alone 1 resource_drift 1",
        "on another version 1",
    ]
    assert said("resume") == (1, "svc: the update of workers is running, and not halted\n")
    assert said("halt") == (0, "halted; updates under way continue\n")
    assert said("halt") == (1, "svc: the update of workers is halted already\n")
    assert "state   halted: by svc rollout halt, since 20" in said("status")[1]
    [workers] = [line for line in svc(tmp_path, "check").stdout.splitlines() if " workers:" in line]
    assert workers.startswith("ok   workers: their update is halted (operator)")
    assert said("resume") == (0, "resumed; the running service continues at its next poll\n")
    text = said("status")[1]
    assert "state   running" in text
    assert "self_check_timeout" not in text  # the update is to be retried


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
        ({"SVC_METRICS_BIND": "1.1.1.1:9090"}, "metrics", "is a public address, and they ask for no password"),
        ({"SVC_METRICS_BIND": "[2606:4700::1]:9090"}, "metrics", "bind a private one"),
    ],
)
def test_whatever_is_wrong_is_a_finding_and_the_other_parts_are_looked_at(tmp_path, settings, part, text):
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    tmp_path.chmod(0o700)
    answer = svc(tmp_path, "check", **settings)
    assert answer.returncode == 1
    assert answer.stderr == ""
    failed = [line for line in answer.stdout.splitlines() if line.startswith("FAIL")]
    assert len(failed) == 1
    assert failed[0].startswith(f"FAIL {part}: ")
    assert text in failed[0]
    assert len(answer.stdout.splitlines()) == 11


@pytest.mark.rule("X14")
@pytest.mark.parametrize(
    ("bind", "text"),
    [
        ("", "they are not served"),
        ("127.0.0.1:9090", "for this machine alone"),
        ("[::1]:9090", "for this machine alone"),
        ("localhost:9090", "for this machine alone"),
        ("10.1.2.3:9090", "let nobody but the scraper reach it"),
        ("metrics.internal:9090", "let nobody but the scraper reach it"),
    ],
)
def test_a_check_tells_who_can_read_the_metrics(bind, text):
    found = check._metrics(Config(metrics=MetricsConfig(bind=bind)))
    assert found.verdict == "ok"
    assert text in found.text


@pytest.mark.rule("X14")
@pytest.mark.parametrize("host", ["0.0.0.0", "0", "[::]", "[0::0]", "[::ffff:0:0]"])
def test_a_check_warns_of_metrics_on_every_address(host):
    """In a container this is the usual choice: which port is published, and where, the address does not tell."""
    found = check._metrics(Config(metrics=MetricsConfig(bind=f"{host}:9090")))
    assert found.verdict == "warn"
    assert "they ask for no password; bind a private one, or publish the container's port to the scraper" in found.text


def test_a_warning_is_no_failure(tmp_path):
    answer = svc(tmp_path, "check", SVC_WORKER_ALLOW_LOCAL_PUSH="true")
    assert answer.returncode == 0, answer.stdout
    assert "\nwarn address: [worker] allow_local_push is set" in answer.stdout
    assert "FAIL" not in answer.stdout


def test_an_address_of_the_metrics_that_is_taken_ends_the_start(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        answer = svc(tmp_path, "serve", SVC_HTTP_BIND="127.0.0.1:0", SVC_METRICS_BIND=bind)
    assert answer.returncode == 1
    assert f"[metrics] bind: {bind} cannot be listened on" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_without_the_key_of_sealed_tokens_nothing_starts_and_no_key_is_made(tmp_path):
    seal_a_token(tmp_path)
    assert "opens 1 tokens" in svc(tmp_path, "check").stdout
    key_file = tmp_path / "var/vault.key"
    key = key_file.read_bytes()
    key_file.unlink()
    for command in ("check", "serve"):
        answer = svc(tmp_path, command, SVC_HTTP_BIND="127.0.0.1:0")
        assert answer.returncode == 1
        assert "is gone, and with it the tokens of 1 accounts" in answer.stdout + answer.stderr
        assert "Traceback" not in answer.stderr
        assert not key_file.exists()
    key_file.touch(0o600)
    key_file.write_bytes(key)
    assert svc(tmp_path, "check").returncode == 0


@pytest.mark.rule("X2")
def test_an_import_leaves_out_links_that_were_not_public_unless_they_are_included(tmp_path):
    account_id = make_account(tmp_path)
    url = "https://a.example/"
    rows = (
        f"open,{url},f,,\nbanned,{url},t,,\nsecret,{url},f,$2b$,\nover,{url},f,,2020-01-01\nlater,{url},f,,2099-01-01\n"
    )
    (tmp_path / "links.csv").write_text(f"address,target,banned,password,expire_in\n{rows}")
    command = ("import", "links", "links.csv", "--account", account_id)
    answer = svc(tmp_path, *command)
    assert (answer.returncode, answer.stdout.splitlines()) == (
        0,
        [
            "codes from `address`, addresses from `target`",
            "restrictions from `banned`, `password`, `expire_in`",
            "1 row left out: banned or marked as unsafe in the other product",
            "1 row left out: expired in the other product",
            "1 row left out: protected by a password in the other product",
            "To import such rows as well, add --include banned,expired,password: their links then work for everybody.",
            "1 row with an expiry date in the future: their links do not expire here",
            "5 rows: 2 links would be made, 0 are there already, 0 cannot be taken",
            "This was a dry run: nothing was made. --apply makes them.",
        ],
    )
    answer = svc(tmp_path, *command, "--apply", "--include", "expired, password")
    assert "1 row included: expired in the other product\n" in answer.stdout
    assert "Their links ask for no password" in answer.stdout
    assert "5 rows: 4 links were made" in answer.stdout
    answer = svc(tmp_path, *command, "--include", "all")
    assert (answer.returncode, "`all` is none of banned, deleted" in answer.stderr) == (2, True)


NOBODY = ("--user", "nobody@example.com")


@pytest.mark.rule("X2", "X4")
@pytest.mark.parametrize(
    ("kind", "text", "arguments", "why"),
    [
        ("links", "code,url\n", (), "name the account by --account, or its user by --user"),
        ("links", "code,url\n", NOBODY, "there is no such account"),
        ("links", "code,url\n", ("--apply", "--dry-run"), "exclude each other"),
        ("links", "a,b\n", NOBODY, "no columns for codes and addresses"),
        ("totals", "day,views\n", (), "name the user by --user, or the account by --account"),
        ("totals", "day,views\n", NOBODY, "there is no such account"),
        ("totals", "day,views\n", ("--apply", "--dry-run"), "exclude each other"),
        ("totals", "day,views\n", ("--site", "a..\u00fc/b", *NOBODY), "no host name"),
        ("totals", "\x1b[2J,b\n", NOBODY, "first line: \ufffd[2j, b"),
        ("totals", "", NOBODY, "the file is empty"),
    ],
)
def test_an_import_that_cannot_be_says_why(tmp_path, kind, text, arguments, why):
    (tmp_path / "export.csv").write_text(text)
    answer = svc(tmp_path, "import", kind, "export.csv", *arguments)
    assert answer.returncode == 1
    assert why in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.rule("X4")
def test_totals_are_imported_after_a_dry_run_and_only_once(tmp_path):
    account_id = make_account(tmp_path, site="xn--mnchen-3ya.example")
    (tmp_path / "export.csv").write_text("date,visitors,pageviews,bounces\n2020-01-01,5,12,1\n2020-01-02,1,2,1\n")
    of = ("export.csv", "--site", "M\u00fcnchen.example", "--account", account_id)
    for arguments, added in (((), "2 days would be"), (("--apply",), "2 days were"), (("--apply",), "0 days were")):
        answer = svc(tmp_path, "import", "totals", *of, *arguments)
        assert answer.returncode == 0, answer.stderr
        assert "Plausible's export of a site; read are its columns date, pageviews, visitors" in answer.stdout
        assert f"{added} added; 0 lines cannot be taken" in answer.stdout
        assert ("This was a dry run" in answer.stdout) == (arguments == ())
    (tmp_path / "export.csv").write_text("day,views\n2020-01-01,99\n2020-01-03,\u00e9\n")
    answer = svc_process(tmp_path, "import", "totals", *of, "--apply", PYTHONIOENCODING="ascii")
    assert answer.returncode == 1
    assert "line 3: views is `?`" in answer.stdout
    assert "1 days (2020-01-01) are there with other numbers" in answer.stdout


@pytest.mark.rule("X2", "X4")
def test_nothing_in_a_file_controls_the_terminal(tmp_path):
    account_id = make_account(tmp_path)
    clear = "\x1b[2J\x9b2J"
    (tmp_path / "links.csv").write_text(f"code{clear},url\n{clear},https://a.example/\nabc,{clear}\n")
    rows = f"site,,a{clear}.example,,2020-01-01,1\nsite,,a.example,,2020-01-01,{clear}\n"
    (tmp_path / "totals.csv").write_text(f"kind,edge_account_id,name,target,day,views\n{rows}")
    for kind in ("links", "totals"):
        answer = svc(tmp_path, "import", kind, f"{kind}.csv", "--account", account_id)
        assert (answer.returncode, "Traceback" in answer.stderr) == (1, False)
        assert "\N{REPLACEMENT CHARACTER}[2J" in answer.stdout + answer.stderr
        assert not {"\x1b", "\x9b"} & {*answer.stdout, *answer.stderr}


@pytest.mark.rule("X2", "X4")
def test_an_import_into_a_store_that_is_held_says_so_and_how_far_it_came(tmp_path):
    """A backup holds it, say: five seconds are waited for it."""
    account_id = make_account(tmp_path, site="shop.example.com")
    (tmp_path / "totals.csv").write_text("day,views\n2020-01-01,12\n")
    (tmp_path / "links.csv").write_text("code,url\nabc,https://a.example/\n")
    with closing(sqlite3.connect(tmp_path / "var/svc.db", isolation_level=None)) as connection:
        connection.execute("begin immediate")
        to = ("--account", account_id, "--apply")
        commands = [("totals", "totals.csv", "--site", "shop.example.com", *to), ("links", "links.csv", *to)]
        answers = trio.run(all_answers, tmp_path, commands)
    for answer, where in zip(answers, ("shop.example.com (site)", "line 2"), strict=True):
        assert answer.returncode == 1
        assert f"stopped at {where}: Another program holds the service's store." in answer.stdout
        assert "Traceback" not in answer.stderr


async def all_answers(folder: Path, commands: list[tuple[str, ...]]) -> list[subprocess.CompletedProcess[str]]:
    """Run imports at the same time; their answers in the same order."""
    answers: dict[int, subprocess.CompletedProcess[str]] = {}

    async def run(number: int) -> None:
        answers[number] = await svc_async(folder, "import", *commands[number])

    async with trio.open_nursery() as nursery:
        for number in range(len(commands)):
            nursery.start_soon(run, number)
    return [answers[number] for number in range(len(commands))]


def test_a_command_that_is_interrupted_says_so(tmp_path):
    os.mkfifo(tmp_path / "links.csv")
    # What a shell starts in the background ignores the signal, these tests among it, and hands that down.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "svc"]
    command += ["import", "links", "links.csv", "--user", "ann@example.com"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (
        subprocess.Popen(command, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True) as process,
        (tmp_path / "links.csv").open("w"),  # which waits until the command reads it
    ):
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (1, "svc: interrupted\n")


def test_a_user_is_added_by_the_rules_of_the_api(tmp_path):
    for email, password in (
        ("@", "long enough"),
        ("ann@localhost", "long enough"),
        ("=?utf-8?q?a=0d=0ab?=@example.com", "long enough"),
        ("ann@example.com", "x" * 201),
        ("ann@example.com", "short"),
        ("ann@example.com", ""),
    ):
        answer = svc(tmp_path, "user", "add", email, "--password-stdin", text=f"{password}\n")
        assert answer.returncode == 1
        assert answer.stderr.startswith(("svc: email must be", "svc: password must have"))
        assert password == "" or password not in answer.stderr
    add = ("user", "add", "Ann@Example.com", "--password-stdin", "--confirmed")
    assert svc_process(tmp_path, *add, text="long enough\n").returncode == 0
    found = user_of(tmp_path, "ann@example.com")
    assert found is not None
    assert (found[0].email, found[0].email_confirmed) == ("ann@example.com", True)
    assert verify_password(found[1], "long enough")
    assert not AS_IT_IS.check_needs_rehash(found[1])
    again = svc(tmp_path, "user", "add", "ann@example.com", "--password-stdin", text="long enough\n")
    assert (again.returncode, again.stderr) == (1, "svc: there is a user ann@example.com already\n")
