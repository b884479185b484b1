"""Tests of the systemd units in packaging/systemd. `make units` also runs systemd's analyzer on them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from svc import addresses
from svc.cli import parser_of_all
from svc.config import Config

FOLDER = Path(__file__).parents[1] / "packaging/systemd"
SERVICES = ("svc.service", "svc-backup.service")
# Settings of the unit that restrict the service. Some keep the exposure level, as reported by `systemd-analyze
# security`, at 1.5 or below. The others limit damage to the service's own folder.
_ON = (
    "NoNewPrivileges", "ProtectHome", "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs",
    "ProtectControlGroups", "ProtectClock", "ProtectHostname", "PrivateTmp", "PrivateDevices", "PrivateUsers",
    "PrivateMounts", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "RemoveIPC", "LockPersonality",
    "MemoryDenyWriteExecute",
)  # fmt: skip
SANDBOX = {
    **{key: ["yes"] for key in _ON},
    "CapabilityBoundingSet": [""],
    "AmbientCapabilities": [""],
    "ProtectSystem": ["strict"],
    "ProtectProc": ["invisible"],
    "ProcSubset": ["pid"],
    "RestrictAddressFamilies": ["AF_INET AF_INET6 AF_UNIX"],
    "SystemCallArchitectures": ["native"],
    "SystemCallFilter": ["@system-service", "~@privileged @resources"],
    "SystemCallErrorNumber": ["EPERM"],
    "UMask": ["0077"],
    "LimitCORE": ["0"],
    "User": ["svc"],
    "StateDirectoryMode": ["0700"],
}


def unit(name: str) -> dict[str, dict[str, list[str]]]:
    """Return the values of each setting in a unit file, by section and name. A setting can occur several times."""
    found: dict[str, dict[str, list[str]]] = {}
    section = ""
    for line in (FOLDER / name).read_text().splitlines():
        if re.fullmatch(r"\[\w+\]", line):
            section = line[1:-1]
        elif line and not line.startswith("#"):
            key, is_one, value = line.partition("=")
            assert is_one, f"{name}: {line}"
            assert not re.search(r"\s#", value), f"{name}: comments need a separate line: {line}"
            found.setdefault(section, {}).setdefault(key, []).append(value)
    return found


def seconds(value: str) -> float:
    number, times = re.fullmatch(r"(\d+)(min)?", value).groups()  # type: ignore[union-attr]
    return int(number) * (60 if times else 1)


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_sandboxed(name):
    service = unit(name)["Service"]
    assert {key: service.get(key) for key in SANDBOX} == SANDBOX


def test_unit_runs_a_valid_command():
    [line] = unit("svc.service")["Service"]["ExecStart"]
    program, *arguments = shlex.split(line)
    assert program == "/usr/bin/svc"
    assert parser_of_all().parse_args(arguments).config == "/etc/svc/config.toml"


def test_socket_has_the_default_address_and_timeouts_are_sufficient():
    assert unit("svc.socket")["Socket"]["ListenStream"] == [addresses.DEFAULT_BIND]
    service = unit("svc.service")["Service"]
    config = Config()
    closing_s = 5
    assert seconds(service["TimeoutStopSec"][0]) > config.http.graceful_s + config.timing.drain_s + closing_s
    assert service["Type"] == ["notify"]
    assert seconds(service["WatchdogSec"][0]) >= 30
    assert unit("svc.service")["Unit"]["Wants"] == ["svc.socket network-online.target"]


def test_backup_unit_keeps_the_newest_fourteen_backups(tmp_path):
    made, removed = unit("svc-backup.service")["Service"]["ExecStart"]
    names = [f"svc-202611{day:02}T030000Z.tar" for day in range(1, 21)]
    script = shlex.split(made.replace("$$", "$").replace("%%", "%"))[2]  # the command, split as systemd does it
    program, *arguments = shlex.split(script.removeprefix("exec "))
    assert program == "/usr/bin/svc"
    assert parser_of_all().parse_args(arguments).file.startswith("/var/lib/svc/backups/svc-$(date")
    assert re.search(r"svc-\$\$\(date -u \+%%Y%%m%%dT%%H%%M%%SZ\)\.tar", made)
    for name in (*names, "mine.tar", "svc-20261121T030000Z.tar.part"):
        (tmp_path / name).touch()
    for _ in range(2):
        command = shlex.split(removed.replace("/var/lib/svc/backups", str(tmp_path)))
        assert subprocess.run(command, check=False, capture_output=True).stderr == b""
        left = sorted(path.name for path in tmp_path.iterdir())
        assert left == ["mine.tar", *names[6:], "svc-20261121T030000Z.tar.part"]


def test_backup_unit_removes_parts_of_interrupted_backups(tmp_path):
    [removed] = unit("svc-backup.service")["Service"]["ExecStartPre"]
    (tmp_path / "svc-20261121T030000Z.tar.part").mkdir()
    for name in ("svc-20261121T030000Z.tar.part/store.db", "mine.tar.part", "svc-20261121T030000Z.tar"):
        (tmp_path / name).touch()
    command = shlex.split(removed.replace("/var/lib/svc/backups", str(tmp_path)))
    for _ in range(2):
        assert subprocess.run(command, check=False, capture_output=True).stderr == b""
        assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.tar.part", "svc-20261121T030000Z.tar"]
