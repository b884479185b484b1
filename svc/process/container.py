"""Whether what the service keeps goes with the container in which it runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc.config import Config

# Of docker, podman, and others who do as systemd wants it. Kubernetes leaves no file, but mounts some of the pod's own;
# it also tells the first process, which may not read its own environment where it allows no core dumps.
_MARKS = (".dockerenv", "run/.containerenv", "run/systemd/container")
_OF_A_POD = re.compile(r"/pods/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/")
_TOLD = re.compile(rb"(?:^|\0)(?:container|KUBERNETES_SERVICE_HOST)=")
_IN_MEMORY = ("tmpfs", "ramfs")
# Where docker and podman keep a volume that has no name, and Kubernetes a folder that lives as long as its pod.
_NAMELESS = re.compile(r"/volumes/[0-9a-f]{64}/_data\b|/volumes/kubernetes\.io~empty-dir/")


def in_container(root: Path = Path("/")) -> bool:
    """Whether this process runs in a container, as far as the file system and the first process show.

    `root`: of the file system.
    """
    if any((root / mark).exists() for mark in _MARKS) or _TOLD.search(_environ_of_first(root)):
        return True
    return _OF_A_POD.search(_mounts(root)) is not None


def data_trouble(config: Config, root: Path = Path("/")) -> str | None:
    """Why the store's file, the key file or e-mails in files would be lost with the container; None: they would not.

    None also where this is no container, as far as anybody can know. `root`: of the file system.
    """
    if not in_container(root):
        return None
    mounts = _mounts(root)
    if not mounts:
        return None
    for what, path in _kept(config):
        why = _lost_with(path.absolute(), mounts)
        if why is not None:
            return f"{what} ({path}) {why}; mount a named volume or a folder of the host on {path.absolute().parent}"
    return None


def _mounts(root: Path) -> str:
    """What is mounted, as proc_pid_mountinfo(5) has it; "" where the system does not tell."""
    try:
        return (root / "proc/self/mountinfo").read_text()
    except OSError:
        return ""


def _environ_of_first(root: Path) -> bytes:
    """The environment of the first process, which in a container is mostly this one; b"" of somebody else's."""
    try:
        return (root / "proc/1/environ").read_bytes()
    except OSError:
        return b""


def _kept(config: Config) -> list[tuple[str, Path]]:
    kept = [("the key file", config.vault.key_file)]
    url = config.store.url.get_secret_value()
    if url.startswith("sqlite:///"):
        kept.insert(0, ("the store", Path(url.removeprefix("sqlite:///"))))
    if config.mail.transport == "file":
        kept.append(("the folder of e-mails", config.mail.folder))
    return kept


def _lost_with(path: Path, mounts: str) -> str | None:
    """What becomes of the file, by what is mounted: proc_pid_mountinfo(5)."""
    best, source, kind = "", "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 7 or "-" not in fields:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])
        if path.is_relative_to(point) and len(point) >= len(best):  # a later one lies over an earlier one
            best, source, kind = point, fields[3], fields[fields.index("-") + 1]
    if kind in _IN_MEMORY:
        return "is in memory and ends with the container"
    if best == "/":
        return "is in the container itself and ends with it"
    if _NAMELESS.search(source):
        return "is on a volume without a name: the next container gets another one"
    return None
