"""Wheels, sdists, packages and images are complete. If files are missing, the build fails with instructions."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distributions, version
from importlib.resources import files
from importlib.util import module_from_spec, spec_from_file_location
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import jsonschema
import pytest
import yaml

from edge_worker.harness.service import environment
from svc.config import load
from tests.command_runs import api_with_a_clock, environment_of, svc

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]


BUILT = {"worker": "svc/bundle", "web application": "svc/web/dist", "documentation": "svc/documents"}


def copy_of(folder: Path, *, without: str = "", compiled: bool = False) -> Path:
    """Copy the files that are needed to build a package, except ignored files. Return `folder`.

    `without`: the key in BUILT of the part to omit, or "all". `compiled`: also copy compiled files, so that a service
    that runs from the copy does not have to compile them.
    """
    names = ("pyproject.toml", "config.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore")
    for name in names:
        shutil.copy(ROOT / name, folder)
    left_out = {ROOT / path for name, path in BUILT.items() if without in (name, "all")}

    def unwanted(place: str, names: list[str]) -> set[str]:
        unknown = ("node_modules",) if compiled else ("__pycache__", "node_modules")
        return {name for name in names if name in unknown or Path(place, name) in left_out}

    shutil.copytree(ROOT / "svc", folder / "svc", ignore=unwanted)
    return folder


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(folder), "SVC_EDGE_API_BASE_URL": api_with_a_clock(), **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def files_of(package: Path) -> set[str]:
    if package.suffix == ".whl":
        return set(zipfile.ZipFile(package).namelist())
    with tarfile.open(package) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize("missing", BUILT)
def test_build_fails_without_generated_files(tmp_path, kind, missing):
    built = run(copy_of(tmp_path, without=missing), "hatchling", "build", "--target", kind)
    assert built.returncode != 0
    assert f"The {missing} was not built" in built.stderr
    assert "Run `make build` first." in built.stderr
    assert not (tmp_path / "dist").exists() or not list((tmp_path / "dist").iterdir())


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_package_contains_all_files_that_the_service_reads(tmp_path, kind):
    built = run(copy_of(tmp_path), "hatchling", "build", "--target", kind)
    assert built.returncode == 0, built.stderr
    [package] = (tmp_path / "dist").iterdir()
    ours = {path.relative_to(tmp_path).as_posix() for path in (tmp_path / "svc").rglob("*") if path.is_file()}
    assert {"svc/bundle/manifest.json", "svc/bundle/svc-edge.js", "svc/web/dist/index.html"} <= ours
    assert {"svc/documents/CHANGELOG.md", "svc/documents/operate/install.md"} <= ours
    documentation = [f"svc/web/dist/help/{folder}/{name}" for folder in ("use", "operate") for name in pages_in(folder)]
    assert {"svc/web/dist/llms.txt", "svc/web/dist/help/missing.html", *documentation} <= ours
    read = {path for path in ours if not path.startswith("svc/web/") or path.startswith("svc/web/dist/")}
    assert (read | {"svc/web/pages.json"}) - files_of(package) == set()
    if kind == "wheel":
        # a package does not need the sources of the web application or the documentation
        assert not [path for path in files_of(package) if path.startswith(("svc/web/src/", "svc/web/help/"))]


def pages_in(folder: str) -> list[str]:
    """Return the names of the files that `make build` creates for the documents in a folder, without the compressed
    copies.
    """
    stems = [path.stem.replace("README", "index") for path in (ROOT / "docs" / folder).glob("*.md")]
    return [f"{stem}.{kind}" for stem in stems for kind in ("html", "md")]


def load_script(name: str) -> ModuleType:
    """Return a script in packaging/, which is not a package, as a module."""
    spec = spec_from_file_location(name, ROOT / f"packaging/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_documents_are_complete_and_their_links_work(tmp_path):
    load_script("documents").copy_documents(tmp_path)
    places = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    for folder in ("use", "operate"):
        assert {f"{folder}/{path.name}" for path in (ROOT / "docs" / folder).glob("*.md")} <= places
    assert {"CHANGELOG.md", "operate/prometheus/svc.rules.yml", "operate/grafana/svc.json"} <= places
    for place in places:
        if place.endswith(".md"):
            for link in re.findall(r"\]\(([^)#\s]+)", (tmp_path / place).read_text()):
                if "://" not in link:
                    assert os.path.normpath(Path(place).parent / link) in places, f"{place}: {link}"
    moved = (tmp_path / "CHANGELOG.md").read_text()
    assert "[Reports](use/reports.md)" in moved
    assert " Versioning explains" in moved  # a link to a page that is not packaged is replaced by its text


def test_make_build_has_copied_the_current_documents(tmp_path):
    load_script("documents").copy_documents(tmp_path)
    assert contents_of(ROOT / "svc/documents") == contents_of(tmp_path)


def contents_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_documented_image_versions_are_current():
    for path in (ROOT / "packaging/compose.yaml", *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"):
        for named in re.findall(r"\bsvc:(\d[\w.]*\w)", path.read_text()):
            assert named == version("svc"), path


def test_editable_install_works_without_generated_files(tmp_path):
    """`make build` first installs the package and Node, and then uses Node to build the files. The installation must
    therefore work without them.
    """
    editable = "import hatchling.build, sys; hatchling.build.build_editable(sys.argv[1])"
    made = subprocess.run(
        [sys.executable, "-c", editable, "."],
        cwd=copy_of(tmp_path, without="all"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert made.returncode == 0, made.stderr


def test_missing_worker_bundle_is_reported_with_the_remedy(tmp_path):
    folder = copy_of(tmp_path, without="worker", compiled=True)
    for command in ("check", "serve"):
        response = run(folder, "svc", command, SVC_HTTP_BIND="127.0.0.1:0")
        assert response.returncode == 1, command
        text = response.stdout + response.stderr
        assert "bundle cannot be used" in text
        assert "run: make build" in text
        assert "Traceback" not in text


def test_service_without_web_application_serves_the_api(tmp_path):
    folder = copy_of(tmp_path, without="web application", compiled=True)
    found = run(folder, "svc", "check", SVC_HTTP_BIND="127.0.0.1:0")
    assert found.returncode == 1
    assert "The web application cannot be read" in found.stdout
    assert "run: make build" in found.stdout
    environ = {**environment(tmp_path, {}), "PYTHONPATH": str(folder)}
    serve = [sys.executable, "-m", "svc", "serve"]
    with subprocess.Popen(serve, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = json.loads(process.stdout.readline())["url"]
        assert httpx.get(f"{url}/healthz", trust_env=False).json()["ok"] is True
        assert httpx.get(url, headers={"Accept": "text/html"}, trust_env=False).status_code == 404
        process.terminate()
        said = [line for line in process.stderr if b"web application not served" in line]
    assert len(said) == 1
    assert b"run: make build" in said[0]


def test_compose_file_has_valid_settings():
    """An unknown setting would prevent the service from starting. No other test would notice this, because tests cannot
    run compose.
    """
    compose = yaml.safe_load((ROOT / "packaging/compose.yaml").read_text())
    given = {"SVC_DOMAIN": "svc.example", "SVC_DB_PASSWORD": "secret", "SVC_AUTH_SIGN_UP": "invite"}

    def filled(text: str) -> str:
        return re.sub(r"\$\{(\w+)(?::([-?])([^}]*))?\}", lambda m: given.get(m[1], m[3] if m[2] == "-" else ""), text)

    config = load(None, {name: filled(text) for name, text in compose["services"]["svc"]["environment"].items()})
    assert config.store.url.get_secret_value() == "postgresql://svc:secret@db/svc"
    assert config.push_url_problem(config.push_url(config.http.base_url)) is None
    assert config.auth.sign_up == "invite"
    # Only the web server is a trusted proxy. Its address is fixed, so that no other container can get this address.
    [network] = compose["networks"]["default"]["ipam"]["config"]
    caddy = compose["services"]["caddy"]["networks"]["default"]["ipv4_address"]
    assert config.http.trusted_proxies == (caddy,)
    assert IPv4Address(caddy) in IPv4Network(network["subnet"])
    assert IPv4Address(caddy) not in IPv4Network(network["ip_range"])
    assert IPv4Network(network["ip_range"]).subnet_of(IPv4Network(network["subnet"]))
    assert network["gateway"] != caddy


def test_compose_file_follows_the_schema():
    schema = json.loads(files("check_jsonschema.builtin_schemas").joinpath("vendor/compose-spec.json").read_text())
    compose = yaml.safe_load((ROOT / "packaging/compose.yaml").read_text())
    jsonschema.validate(compose, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**compose, "services": {"svc": {"imagee": "svc"}}}, schema)


def test_backup_container_keeps_newest_backups(tmp_path):
    compose = yaml.safe_load((ROOT / "packaging/compose.yaml").read_text())
    backup = compose["services"]["backup"]
    assert backup["environment"] == compose["services"]["svc"]["environment"]
    [script] = backup["command"]
    unit = (ROOT / "packaging/systemd/svc-backup.service").read_text()
    commands = re.findall(r"-c '(rm .*|ls .*)'", unit)
    assert [command in script for command in commands] == [True, True]
    store = f"sqlite:///{tmp_path}/svc.db"
    settings = {"SVC_STORE_URL": store, "SVC_VAULT_KEY_FILE": f"{tmp_path}/vault.key"}
    assert (
        svc(tmp_path, "user", "add", "a@example.com", "--password-stdin", text="a long password", **settings).returncode
        == 0
    )
    folder = tmp_path / "backups"
    folder.mkdir()
    for day in range(10, 25):
        (folder / f"svc-202001{day}T000000Z.tar").write_text("an old backup")
    (folder / "svc-20200125T000000Z.tar.part").write_text("an interrupted backup")
    once = script.replace("$$", "$").replace("/var/lib/svc", str(tmp_path)).replace("sleep 86400", "exit 0")
    environ = {**environment_of(settings), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    run_once = subprocess.run(
        [*backup["entrypoint"], once],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run_once.returncode == 0, run_once.stderr
    kept = sorted(path.name for path in folder.iterdir())
    assert kept[:13] == [f"svc-202001{day}T000000Z.tar" for day in range(12, 25)]
    assert len(kept) == 14
    assert svc(tmp_path, "verify", str(folder / kept[-1]), **settings).returncode == 0


def make_root(root: Path) -> None:
    """Create a root folder with the package's files. `_INSTALLED` mounts this host's /usr in it."""
    for folder in ("usr", "dev", "proc", "tools", "var/lib", "etc/svc", "etc/sysusers.d", "etc/tmpfiles.d"):
        (root / folder).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        if Path("/", name).is_symlink():
            (root / name).symlink_to(f"usr/{name}")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    shutil.copy(ROOT / "packaging/debian/config.toml", root / "etc/svc/config.toml")
    shutil.copy(ROOT / "packaging/debian/postinst", root / "tools/postinst")
    for kind in ("sysusers", "tmpfiles"):
        shutil.copy(ROOT / f"packaging/systemd/{kind}.conf", root / f"etc/{kind}.d/svc.conf")
    # The programs that the script needs on machines without systemd.
    for name in ("sh", "getent", "useradd", "install", "chown", "chmod"):
        (root / "tools" / name).symlink_to(shutil.which(name, path="/usr/bin:/usr/sbin") or name)


_INSTALLED = """
mount --bind /usr "$0/usr"
mount --bind /dev "$0/dev"
[ "$1" = bare ] || mount -t proc proc "$0/proc"
exec env -i PATH="$2" /usr/sbin/chroot "$0" /bin/sh /tools/postinst configure
"""


@pytest.mark.skipif(
    os.geteuid() != 0
    or not Path("/bin").is_symlink()
    or bool(subprocess.run(["unshare", "-m", "true"], check=False).returncode),
    reason="creates mounts, and requires that /bin is a link into /usr",
)
@pytest.mark.parametrize(
    ("proc", "tools"),
    [("bare", "/usr/bin:/usr/sbin"), ("proc", "/usr/bin:/usr/sbin"), ("bare", "/tools")],
    ids=["systemd without /proc", "systemd", "no systemd"],
)
def test_postinst_creates_user_and_folders(tmp_path, proc, tools):
    root = tmp_path / "root"
    make_root(root)
    (root / "etc/svc/config.toml").chmod(0o644)
    command = ["unshare", "-m", "/bin/sh", "-euc", _INSTALLED, str(root), proc, tools]
    for _ in ("the first install", "an upgrade"):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        [user] = [line.split(":") for line in (root / "etc/passwd").read_text().splitlines() if line.startswith("svc:")]
        uid, gid, home, shell = int(user[2]), int(user[3]), user[5], user[6]
        assert (home, shell) == ("/var/lib/svc", "/usr/sbin/nologin")
        for path, owner, mode in (
            ("etc/svc", 0, 0o750),
            ("etc/svc/config.toml", 0, 0o640),
            ("var/lib/svc", uid, 0o700),
        ):
            found = (root / path).stat()
            assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (owner, gid, mode), path


def test_packaged_configuration_is_valid():
    assert load(ROOT / "packaging/debian/config.toml", {}).mail.folder == Path("/var/lib/svc/mail")


def test_distribution_requires_all_licence_texts(tmp_path, monkeypatch):
    licences = load_script("licences")
    lock = (ROOT / "requirements.lock").read_text()
    needed = {licences.plain(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    texts = "\n" + licences.texts(ROOT, needed, [])
    wanted = [f"{one.name} {one.version}" for one in distributions() if licences.plain(one.name) in needed]
    assert len(wanted) > 30
    assert [title for title in wanted if f"\n{title}\n{'=' * len(title)}\n\n" not in texts] == []
    for other in ("svc", "Python", "pyinstaller", "isbot", "preact", "@preact/signals", "@preact/signals-core"):
        assert re.search(rf"\n{other} [\d.]+\n=+\n\n", texts), other

    bare = tmp_path / "bare-1.dist-info"
    bare.mkdir()
    (bare / "METADATA").write_text("Metadata-Version: 2.1\nName: Bare\nVersion: 1\n")
    (bare / "RECORD").write_text("bare-1.dist-info/METADATA,,\nbare-1.dist-info/LICENSE,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    for text in ("", " \n"):
        (bare / "LICENSE").write_text(text)
        with pytest.raises(licences.NoText, match=r"^Bare 1$"):
            licences.texts(ROOT, {"bare"}, [])
    (bare / "LICENSE").write_text("Do as you like.")
    assert "\n\nDo as you like.\n" in licences.texts(ROOT, {"bare"}, [])
    assert f"\nlibunknown.so.1: {licences.UNKNOWN}\n" in licences.texts(
        ROOT, set(), [str(tmp_path / "libunknown.so.1")]
    )
