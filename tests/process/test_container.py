"""A service in a container is told when what it keeps goes with the container."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from svc.commands import check
from svc.config import Config, MailConfig, StoreConfig, VaultConfig
from svc.process.container import data_trouble, in_container

OVERLAY = "600 500 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/a"
PROC = "601 600 0:51 / /proc rw - proc proc rw"
VOLUME = "/var/lib/docker/volumes/{}/_data /var/lib/svc rw master:1 shared:2 - ext4 /dev/sda1 rw"
POD = "/var/lib/kubelet/pods/1/volumes/kubernetes.io~{}/data /var/lib/svc rw - ext4 /dev/sda1 rw"


def trouble(root, *mounts, store="sqlite:////var/lib/svc/svc.db"):
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text("\n".join([OVERLAY, PROC, *mounts, ""]))
    (root / ".dockerenv").touch()
    folder = Path("/var/lib/svc")
    config = Config(
        store=StoreConfig(url=SecretStr(store)),
        vault=VaultConfig(key_file=folder / "vault.key"),
        mail=MailConfig(folder=folder / "mail"),
    )
    return data_trouble(config, root)


@pytest.mark.parametrize(
    ("mounts", "why"),
    [
        ((), "the store (/var/lib/svc/svc.db) is in the container itself"),
        (("602 600 8:1 /x /var/lib/svcs rw - ext4 /dev/sda1 rw",), "is in the container itself"),
        (("602 600 8:1 /x /var/lib/svc/mail rw - ext4 /dev/sda1 rw",), "is in the container itself"),
        ((f"602 600 8:1 {VOLUME.format('0123456789abcdef' * 4)}",), "is on a volume without a name"),
        ((f"602 600 8:1 {VOLUME.format('svc-data')}",), None),
        (
            (f"602 600 8:1 {VOLUME.format('svc-data')}", "603 602 0:60 / /var/lib/svc rw - tmpfs tmpfs rw"),
            "is in memory",
        ),
        (
            (f"602 600 8:1 {VOLUME.format('svc')}", "603 602 0:60 / /var/lib/svc/mail rw - tmpfs t rw"),
            "the folder of e-mails (/var/lib/svc/mail) is in memory",
        ),
        ((f"602 600 8:1 {POD.format('empty-dir')}",), "is on a volume without a name"),
        ((f"602 600 8:1 {POD.format('csi')}",), None),
        ((r"602 600 8:1 /srv/my\040data /var/lib rw - ext4 /dev/sda1 rw", "nonsense"), None),
    ],
)
def test_what_is_mounted_tells_what_is_lost(tmp_path, mounts, why):
    found = trouble(tmp_path, *mounts)
    assert found is None if why is None else why in (found or "")


def test_the_key_file_is_lost_too_where_the_store_is_elsewhere(tmp_path):
    assert "the key file (/var/lib/svc/vault.key) is in the" in (trouble(tmp_path, store="postgresql://db/svc") or "")


def test_a_check_warns_of_what_is_lost(tmp_path):
    found = check._data(trouble(tmp_path))
    assert (found.verdict, "will be lost with this container: the store" in found.text) == ("warn", True)
    assert check._data(None).verdict == "ok"


@pytest.mark.parametrize(
    ("mark", "environ", "told"),
    [
        ("", b"PATH=/bin\0MY_container=x\0", False),
        ("run/.containerenv", b"", True),
        ("run/systemd/container", b"", True),
        ("", b"container=oci\0", True),
        ("", b"PATH=/bin\0KUBERNETES_SERVICE_HOST=10.0.0.1\0", True),
    ],
)
def test_only_a_container_is_told(tmp_path, mark, environ, told):
    for name, content in (("proc/self/mountinfo", OVERLAY.encode()), ("proc/1/environ", environ), (mark, b"")):
        if name:
            (tmp_path / name).parent.mkdir(parents=True)
            (tmp_path / name).write_bytes(content)
    assert (data_trouble(Config(), tmp_path) is not None) == told


@pytest.mark.parametrize(
    ("mount", "told"),
    [
        ("/kubelet/pods/4f2b8d0e-1c3a-4b5d-9e7f-0a1b2c3d4e5f/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw", True),
        ("/srv/pods/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw", False),
    ],
)
def test_a_pod_is_known_by_its_mounts(tmp_path, mount, told):
    """The first process of a pod is the service, which allows no core dumps and so may not read its environment."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(f"{OVERLAY}\n610 600 8:1 {mount}\n")
    assert in_container(tmp_path) is told
