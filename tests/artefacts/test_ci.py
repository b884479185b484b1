"""The workflow for continuous integration is valid, runs targets that exist, and publishes complete releases."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "packaging/ci/workflow.yml"
MAKEFILE = (ROOT / "Makefile").read_text()


def workflow() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())
    return found


def steps() -> list[dict[str, Any]]:
    return [step for job in workflow()["jobs"].values() for step in job["steps"]]


def make_commands(text: str) -> list[tuple[list[str], list[str]]]:
    """Return the targets and the variables of each `make` command in a script."""
    found = [line.split()[1:] for line in re.findall(r"^\s*(make .+)$", text, re.MULTILINE)]
    return [
        ([word for word in words if "=" not in word], [word.partition("=")[0] for word in words if "=" in word])
        for words in found
    ]


def test_workflow_follows_the_schema():
    schema = json.loads(files("check_jsonschema.builtin_schemas").joinpath("vendor/github-workflows.json").read_text())
    jsonschema.validate(workflow(), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**workflow(), "jobs": {"test": {"steps": [{"run": "make test"}]}}}, schema)


def test_every_command_is_a_target_of_the_makefile():
    commands = [command for step in steps() for command in make_commands(step["run"])]
    assert [targets for targets, _ in commands] == [["check"], ["test"], ["artefacts"], ["release"]]
    for targets, variables in commands:
        for target in targets:
            rule = re.search(rf"^{target}:.*\n(?:\t.*\n)*", MAKEFILE, re.MULTILINE)
            assert rule, target
            assert [name for name in variables if f"$({name})" not in rule[0]] == [], target
    assert make_commands((ROOT / ".ci/run").read_text()) == [(["test"], [])]


def test_scripts_are_valid_and_use_no_other_actions():
    for step in steps():
        assert "uses" not in step
        read = subprocess.run(["bash", "-n"], input=step["run"], capture_output=True, text=True, check=False)
        assert read.returncode == 0, read.stderr


def test_only_the_release_can_write_and_read_the_key():
    loaded = workflow()
    assert loaded["permissions"] == {"contents": "read"}
    assert [name for name, job in loaded["jobs"].items() if "permissions" in job] == ["release"]
    assert [step["name"] for step in steps() if "secrets." in json.dumps(step)] == ["Build the release"]
    assert loaded["jobs"]["release"]["needs"] == ["test", "artefacts"]


def test_checkout_step_fetches_the_commit_with_branches_and_tags(tmp_path):
    origin, clone = tmp_path / "server/owner/svc", tmp_path / "clone"
    script = """
        export GIT_CONFIG_GLOBAL=/dev/null
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
        git init --quiet --initial-branch=main "$0" && cd "$0"
        git commit --quiet --allow-empty --message first && git tag v0.8.0
        echo changed > file && git add file && git commit --quiet --message second
        git rev-parse HEAD
    """
    origin.mkdir(parents=True)
    made = subprocess.run(["bash", "-euc", script, origin], capture_output=True, text=True, check=True)
    clone.mkdir()
    [checkout] = {step["run"] for step in steps() if step["name"].startswith("Check out")}
    environ = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TOKEN": "secret",
        "GITHUB_SERVER_URL": f"file://{tmp_path}/server",
        "GITHUB_REPOSITORY": "owner/svc",
        "GITHUB_SHA": made.stdout.strip(),
    }
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", checkout],
        cwd=clone,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert (clone / "file").read_text() == "changed\n"
    for revision in ("v0.8.0", "origin/main"):
        subprocess.run(["git", "rev-parse", "--verify", revision], cwd=clone, check=True, capture_output=True)
    assert "secret" not in (clone / ".git/config").read_text()


class Host(ThreadingHTTPServer):
    """A host with GitHub's API for releases, or with Forgejo's API if `takes_forms` is set.

    `releases`, `uploads`: what clients have created on the host. `refused`: the name of a file that the host rejects.
    """

    def __init__(self, *, takes_forms: bool, refused: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.takes_forms, self.refused = takes_forms, refused
        self.releases: list[dict[str, Any]] = []
        self.uploads: dict[str, bytes] = {}


class _Request(BaseHTTPRequestHandler):
    server: Host

    def do_POST(self) -> None:
        url, content = urlsplit(self.path), self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Authorization"] == "token secret"
        if url.path == "/api/repos/owner/svc/releases":
            self.server.releases.append(json.loads(content))
            template = "" if self.server.takes_forms else "{?name,label}"
            self._respond(201, {"id": 7, "upload_url": f"{self.server.url}/upload/7{template}"})
            return
        assert url.path == "/upload/7"
        [name] = parse_qs(url.query)["name"]
        if self.server.takes_forms:
            head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
            [part] = cast("list[Message]", BytesParser().parsebytes(head + content).get_payload())
            assert part.get_param("name", header="Content-Disposition") == "attachment"
            content = cast("bytes", part.get_payload(decode=True))
        else:
            assert self.headers["Content-Type"] == "application/octet-stream"
        if name == self.server.refused:
            self._respond(413, {"message": "too large"})
            return
        self.server.uploads[name] = content
        self._respond(201, {})

    def do_PATCH(self) -> None:
        assert self.path == "/api/repos/owner/svc/releases/7"
        self.server.releases[0] |= json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._respond(200, {"html_url": f"{self.server.url}/owner/svc/releases/tag/v0.8.0"})

    def _respond(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "dist/svc-0.8.0"
    found.mkdir(parents=True)
    (found / "svc-0.8.0-notes.md").write_text("# svc 0.8.0\n\nFirst: ä\n")
    (found / "SHA256SUMS").write_text("sums\n")
    (found / "svc_0.8.0_amd64.deb").write_bytes(bytes(range(256)) * 1_000 + b"\r\n--x--\r\n")
    return found


def publish(host: Host, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the last step of the workflow."""
    [script] = [step["run"] for step in steps() if step["name"] == "Publish the release"]
    environ = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "TOKEN": "secret",
        "GITHUB_REPOSITORY": "owner/svc",
        "GITHUB_API_URL": f"{host.url}/api",
        "GITHUB_REF_NAME": "v0.8.0",
    }
    script = script.replace("packaging/ci", str(ROOT / "packaging/ci"))
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder.parents[1], env=environ, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    """A list to which tests add hosts. The hosts run until the test ends."""
    found: list[Host] = []
    yield found
    for host in found:
        host.shutdown()
        host.server_close()


def start(hosts: list[Host], host: Host) -> Host:
    hosts.append(host)
    threading.Thread(target=host.serve_forever, daemon=True).start()
    return host


@pytest.mark.parametrize("takes_forms", [False, True], ids=["GitHub", "Forgejo"])
def test_all_files_are_published_with_the_notes(hosts, folder, takes_forms):
    host = start(hosts, Host(takes_forms=takes_forms))
    said = publish(host, folder)
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == f"{host.url}/owner/svc/releases/tag/v0.8.0\n"
    notes = (folder / "svc-0.8.0-notes.md").read_text()
    assert host.releases == [{"tag_name": "v0.8.0", "name": "v0.8.0", "body": notes, "draft": False}]
    assert host.uploads == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_incomplete_release_stays_a_draft(hosts, folder):
    host = start(hosts, Host(takes_forms=False, refused="svc_0.8.0_amd64.deb"))
    said = publish(host, folder)
    assert said.returncode == 1
    assert said.stderr.endswith('responded with 413: {"message": "too large"}\n')
    assert host.releases[0]["draft"] is True
