"""A backup file is either complete or missing. Invalid backups are rejected with a reason and change nothing."""

from __future__ import annotations

import base64
import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
import trio

from edge_worker.programs import run_program
from svc.atomic_file import locked_file
from svc.backup import run
from svc.backup.archive import BadBackup
from svc.config import ConfigError
from svc.security.vault import write_keys
from tests.backup.places import add_user, config_of, emails_of, fill, rows_of
from tests.clock import START_MS


@pytest.fixture
def good(tmp_path, expected_leaks):
    """The path of a backup with tokens and their key."""
    expected_leaks.allow("vault key")
    config = config_of(tmp_path / "source")
    fill(config)
    run.backup(config, tmp_path / "good.tar", START_MS, with_key=True, replace=False)
    return tmp_path / "good.tar"


def parts_of(file):
    with tarfile.open(file) as archive:
        readers = {member.name: archive.extractfile(member) for member in archive}
        return {name: reader.read() for name, reader in readers.items() if reader}


def member_of(name, data=b"", **more):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for key, value in more.items():
        setattr(member, key, value)
    return member, data


def written(file, *members):
    with tarfile.open(file, "w") as archive:
        for member, data in members:
            archive.addfile(member, io.BytesIO(data))
    return file


def with_manifest(found, **changes):
    manifest = {**json.loads(found["manifest.json"]), **changes}
    return [member_of(name, data) for name, data in {**found, "manifest.json": json.dumps(manifest).encode()}.items()]


def with_store(parts, *statements):
    """Return the parts of a backup after these statements changed its store. The manifest matches the changed store."""
    changed = sqlite3.connect(":memory:")
    changed.deserialize(parts["store.db"])
    for statement in statements:
        changed.execute(statement)
    changed.commit()
    data = bytes(changed.serialize())
    manifest = json.loads(parts["manifest.json"])
    manifest["parts"]["store.db"] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    return with_manifest({**parts, "store.db": data}, parts=manifest["parts"])


def another_key(parts):
    key = base64.b64encode(bytes(32)) + b"\n"
    manifest = json.loads(parts["manifest.json"])
    manifest["parts"]["vault.key"] = {"sha256": hashlib.sha256(key).hexdigest(), "bytes": len(key)}
    return with_manifest({**parts, "vault.key": key}, parts=manifest["parts"])


def flipped(data):
    return data[:9_000] + bytes([data[9_000] ^ 1]) + data[9_001:]


def wrong_members(how, parts):
    manifest, store = member_of("manifest.json", parts["manifest.json"]), member_of("store.db", parts["store.db"])
    key = member_of("vault.key", parts["vault.key"])
    return {
        "a path outside the folder": [manifest, member_of("../../store.db", parts["store.db"]), key],
        "an absolute path": [manifest, member_of("/etc/store.db", parts["store.db"]), key],
        "a link": [manifest, member_of("store.db", type=tarfile.SYMTYPE, linkname="/etc/passwd"), key],
        "a hard link": [manifest, member_of("store.db", type=tarfile.LNKTYPE, linkname="manifest.json"), key],
        "a device": [manifest, member_of("store.db", type=tarfile.CHRTYPE), key],
        "a folder": [manifest, member_of("store.db", type=tarfile.DIRTYPE), key],
        "another order": [store, manifest, key],
        "no manifest": [store, key],
        "no key": [manifest, store],
        "an additional part": [manifest, store, key, member_of("notes.txt", b"hello")],
        "the store twice": [manifest, store, store, key],
        "a digest": [manifest, member_of("store.db", flipped(parts["store.db"])), key],
        "invalid JSON": [member_of("manifest.json", b"{"), store, key],
        "a list": [member_of("manifest.json", b"[1]"), store, key],
        "a huge manifest": [member_of("manifest.json", b" " * 2_000_000), store, key],
        "a part with another name": with_manifest(parts, parts={"../store.db": {"sha256": "", "bytes": 1}}),
        "no store": with_manifest(parts, parts={}),
        "a newer format": with_manifest(parts, format=2),
        "other rows": with_manifest(parts, rows={"users": 7}),
        "another key": another_key(parts),
        "a newer schema": with_store(parts, "pragma user_version = 999"),
        "another database": with_store(parts, "drop table sessions"),
        "orphans": with_store(parts, "delete from users"),
    }[how]


@pytest.mark.rule("X17")
@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("a path outside the folder", "a different entry"), ("an absolute path", "a different entry"),
        ("a link", "a different entry"), ("a hard link", "a different entry"), ("a device", "a different entry"),
        ("a folder", "a different entry"), ("another order", "a different entry"), ("no manifest", "a different entry"),
        ("no key", "missing"), ("an additional part", "more parts"), ("the store twice", "a different entry"),
        ("a digest", "digest"), ("invalid JSON", "manifest"), ("a list", "manifest"), ("a huge manifest", "too large"),
        ("a part with another name", "manifest"), ("no store", "no store"), ("a newer format", "newer program"),
        ("other rows", "rows do not match"), ("another key", "opens 0 tokens"), ("a newer schema", "newer program"),
        ("another database", "not a store of this service"), ("orphans", "refer to missing rows"),
    ],
)  # fmt: skip
def test_invalid_backup_is_rejected_and_changes_nothing(good, tmp_path, how, why):
    bad = written(tmp_path / "bad.tar", *wrong_members(how, parts_of(good)))
    check_refused(bad, tmp_path, why)


@pytest.mark.rule("X17")
def test_truncated_backup_is_rejected(good, tmp_path):
    whole = good.read_bytes()
    bad = tmp_path / "bad.tar"
    in_key = whole.rindex(parts_of(good)["vault.key"]) + 20
    for size in (0, 1, 100, 511, 512, 1_000, 2_000, 5_000, 100_000, in_key - 1_000, in_key - 100, in_key):
        bad.write_bytes(whole[:size])
        with pytest.raises((BadBackup, ConfigError)):
            run.verify(bad)
    for content in (b"a letter\n" * 1_000, b"SQLite format 3\0" + bytes(5_000)):
        bad.write_bytes(content)
        check_refused(bad, tmp_path, "or it is damaged")


def check_refused(bad, tmp_path, why):
    with pytest.raises((BadBackup, ConfigError), match=why):
        run.verify(bad)
    here = config_of(tmp_path / "here")
    if not here.store.path.exists():
        add_user(here, "old@example.com")
    before = here.store.path.read_bytes()
    with pytest.raises((BadBackup, ConfigError), match=why):
        run.restore(here, bad, START_MS, replace=True)
    assert here.store.path.read_bytes() == before
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["svc.db", "svc.db.lock"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.tar", "good.tar", "here", "source"]


def test_restore_adds_the_backups_key_to_the_existing_keys(good, tmp_path):
    here = config_of(tmp_path / "here")
    write_keys(here.vault.key_file, [b"n" * 32])
    run.restore(here, good, START_MS, replace=False)
    keys = here.vault.key_file.read_bytes().split()
    assert keys == [base64.b64encode(b"n" * 32), *parts_of(good)["vault.key"].split()]
    run.restore(here, good, START_MS, replace=True)
    assert here.vault.key_file.read_bytes().split() == keys


def test_backup_without_key_needs_the_key_file(tmp_path):
    config = config_of(tmp_path / "source")
    fill(config)
    manifest = run.backup(config, tmp_path / "bare.tar", START_MS, with_key=False, replace=False)
    assert list(manifest.parts) == ["store.db"]
    run.verify(tmp_path / "bare.tar")
    here = config_of(tmp_path / "here")
    with pytest.raises(BadBackup, match="put the key file"):
        run.restore(here, tmp_path / "bare.tar", START_MS, replace=False)
    os.link(config.vault.key_file, here.vault.key_file)
    run.restore(here, tmp_path / "bare.tar", START_MS, replace=False)
    config.vault.key_file.unlink()
    with pytest.raises(ConfigError, match="--without-key"):
        run.backup(config, tmp_path / "other.tar", START_MS, with_key=True, replace=False)
    assert not (tmp_path / "other.tar").exists()


def test_existing_file_is_kept_and_files_of_a_killed_backup_are_removed(tmp_path):
    config = config_of(tmp_path / "source")
    file = tmp_path / "backup.tar"
    with pytest.raises(ConfigError, match="cannot be copied"):
        run.backup(config, file, START_MS, with_key=True, replace=False)
    assert not file.exists()
    assert not config.store.path.exists()
    add_user(config, "one@example.com")
    left = tmp_path / "backup.tar.part"
    assert not left.exists()
    left.mkdir()
    (left / "store.db").write_text("from a killed backup")
    with locked_file(left, wait=True), pytest.raises(ConfigError, match="in progress"):
        run.backup(config, file, START_MS, with_key=True, replace=False)
    run.backup(config, file, START_MS, with_key=True, replace=False)
    assert not left.exists()
    first = file.read_bytes()
    with pytest.raises(ConfigError, match="already"):
        run.backup(config, file, START_MS, with_key=True, replace=False)
    assert file.read_bytes() == first
    add_user(config, "two@example.com")
    run.backup(config, file, START_MS, with_key=True, replace=True)
    assert run.verify(file).contents.rows["users"] == 2
    with closing(sqlite3.connect(config.store.path)) as store:
        store.execute("pragma writable_schema = on")
        store.execute("update sqlite_master set rootpage = 3 where name = 'users'")
        store.commit()
    with pytest.raises(ConfigError):
        run.backup(config, file, START_MS, with_key=True, replace=True)
    assert run.verify(file).contents.rows["users"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.tar", "source"]


@pytest.mark.rule("X17")
def test_only_a_backup_is_overwritten(tmp_path):
    """An operator may enter the path of the store as the backup's path. The command must not overwrite the store."""
    config = config_of(tmp_path / "var")
    fill(config)
    key, rows = config.vault.key_file.read_bytes(), rows_of(config)
    (tmp_path / "config.toml").write_text("[http]\n")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("nothing")
    mistaken = [config.store.path, config.vault.key_file, *(tmp_path / name for name in ("config.toml", "fifo", "var"))]
    for file in mistaken:
        with pytest.raises(ConfigError, match="exists and is not a backup"):
            run.backup(config, file, START_MS, with_key=True, replace=True)
    with pytest.raises(ConfigError, match="already"):
        run.backup(config, tmp_path / "link", START_MS, with_key=True, replace=False)
    assert (config.vault.key_file.read_bytes(), rows_of(config)) == (key, rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "fifo", "link", "var"]
    (tmp_path / "made.tar").touch()  # create an empty file, as the program mktemp does
    for _ in range(2):
        run.backup(config, tmp_path / "made.tar", START_MS, with_key=False, replace=True)
    assert run.verify(tmp_path / "made.tar").contents.rows["users"]


def svc(folder, *arguments):
    async def ended():
        with trio.fail_after(60):
            return await run_program(["-m", "svc", *arguments], environ=environment(), folder=folder)

    return trio.run(ended)


def begun(folder, *arguments):
    command = [sys.executable, "-m", "svc", *arguments]
    return subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL)


def environment():
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    return environ | {"PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.mark.rule("X17")
def test_commands_print_their_results(tmp_path):
    config = config_of(tmp_path / "var")
    add_user(config, "one@example.com")
    streamed = svc(tmp_path, "backup", "-")
    assert (streamed.returncode, b"1 user," in streamed.stderr) == (0, True)
    assert sorted(path.name for path in (tmp_path / "var").iterdir()) == ["svc.db"]
    (tmp_path / "backup.tar").write_bytes(streamed.stdout)
    response = svc(tmp_path, "verify", "backup.tar")
    assert (response.returncode, b"It is complete" in response.stdout) == (0, True)
    add_user(config, "two@example.com")
    response = svc(tmp_path, "restore", "backup.tar")
    assert (response.returncode, b"--replace" in response.stderr) == (1, True)
    response = svc(tmp_path, "restore", "backup.tar", "--replace")
    assert (response.returncode, b"is now var/svc.db.before-restore-" in response.stdout) == (0, True), response.stderr
    assert emails_of(config) == {"one@example.com"}
    (tmp_path / "backup.tar").write_bytes(streamed.stdout[:5_000])
    response = svc(tmp_path, "verify", "backup.tar")
    assert (response.returncode, b"cannot be restored" in response.stderr) == (1, True)
    assert b"Traceback" not in response.stderr


def piped(folder, raw, *arguments, **settings):
    """Run a command with a pipe that contains these bytes as its standard input."""
    command = [sys.executable, "-m", "svc", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment() | settings, input=raw, capture_output=True, timeout=60, check=False
    )


@pytest.mark.rule("X17")
def test_backup_is_verified_and_restored_from_a_pipe(tmp_path):
    config = config_of(tmp_path / "var")
    add_user(config, "one@example.com")
    raw = svc(tmp_path, "backup", "-").stdout
    response = piped(tmp_path, raw, "verify", "-")
    assert (response.returncode, b"1 user," in response.stdout) == (0, True), response.stderr
    response = piped(tmp_path, raw, "verify", "/dev/stdin")
    assert (response.returncode, b"It is complete" in response.stdout) == (0, True), response.stderr
    add_user(config, "two@example.com")
    response = piped(tmp_path, raw, "restore", "-", "--replace")
    assert (response.returncode, b"Restored." in response.stdout) == (0, True), response.stderr
    assert emails_of(config) == {"one@example.com"}
    for command in (["verify", "-"], ["restore", "-", "--replace"]):
        response = piped(tmp_path, raw[:5_000], *command)
        assert response.returncode == 1
        assert response.stderr.startswith(b"svc: the backup on standard input cannot be restored: ")
    left = [path.name for path in (tmp_path / "var").iterdir() if "before-restore" not in path.name]
    assert sorted(left) == ["svc.db", "svc.db.lock"]
    assert emails_of(config) == {"one@example.com"}


@pytest.mark.rule("X17")
def test_backup_from_a_pipe_reports_a_full_disk_and_leaves_no_files(tmp_path):
    """A file size limit simulates the full disk."""
    config = config_of(tmp_path / "var")
    add_user(config, "one@example.com")
    raw = svc(tmp_path, "backup", "-").stdout
    program = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(raw) // 2}, {len(raw) // 2}))
"""
    (tmp_path / "sitecustomize.py").write_text(program)
    for command in (["verify", "-"], ["restore", "-", "--replace"]):
        response = piped(tmp_path, raw, *command, PYTHONPATH=f"{tmp_path}:{environment()['PYTHONPATH']}")
        assert (response.returncode, b"from standard input cannot be" in response.stderr) == (1, True), response.stderr
        assert b"File too large" in response.stderr
        assert b"Traceback" not in response.stderr
    assert emails_of(config) == {"one@example.com"}
    assert sorted(path.name for path in (tmp_path / "var").iterdir()) == ["svc.db", "svc.db.lock"]


@pytest.mark.rule("X17")
@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (gzip.compress, "it is compressed with gzip; unpack it first, for example with `gzip -dc FILE | svc verify -`"),
        (bz2.compress, "it is compressed with bzip2; unpack it first"),
        (lzma.compress, "it is compressed with xz; unpack it first"),
        (lambda raw: b"\x28\xb5\x2f\xfd" + raw, "it is compressed with zstd; unpack it first"),
        (lambda raw: b"age-encryption.org/v1\n" + raw, "it is encrypted with age; unpack it first"),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "age"],
)
def test_compressed_or_encrypted_backup_is_rejected_with_the_unpack_command(tmp_path, packed, why):
    (tmp_path / "backup").write_bytes(packed(b"manifest.json"))
    with pytest.raises(BadBackup, match=re.escape(why)):
        run.verify(tmp_path / "backup")
