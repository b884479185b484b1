"""Two builds of the image write the same archive."""

from __future__ import annotations

import hashlib
import json
import sys
import tarfile
from typing import TYPE_CHECKING, Any

from tests.artefacts.small_release import tar_of
from tests.emulated import ROOT

if TYPE_CHECKING:
    from pathlib import Path

sys.path.append(str(ROOT / "packaging"))  # scripts, which import each other by name
from image_archive import write_archive

BASE, PROGRAM = b"the layer of the base image", b"the layer of the program"


def built(path: Path, container: str) -> Path:
    """Write the archive of an image that was built in this container."""
    config = {
        "created": "2026-11-27T04:55:06Z",
        "container": container * 32,
        "container_config": {"Hostname": container},
        "config": {"Hostname": container, "Entrypoint": ["svc"], "Healthcheck": {"Test": ["CMD", "svc", "health"]}},
    }
    manifest = {"Config": f"{container}.json", "Layers": ["0.tar", "1.tar"], "RepoTags": ["svc:0.8.0", container]}
    contents = {
        f"{container}.json": json.dumps(config).encode(),
        "0.tar": BASE,
        "1.tar": PROGRAM,
        f"{container}/VERSION": b"1.0",
        "manifest.json": json.dumps([manifest]).encode(),
    }
    path.write_bytes(tar_of(contents))
    return path


def read(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file is not None
    return file.read()


def test_archives_of_two_builds_are_identical_and_keep_the_image(tmp_path: Path) -> None:
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    for path, container in ((first, "aa"), (second, "bb")):
        write_archive(built(tmp_path / "built.tar", container), path, "svc:0.8.0", 1_790_000_000)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as archive:
        [manifest] = json.loads(read(archive, "manifest.json"))
        assert (manifest["Layers"], manifest["RepoTags"]) == (["0.tar", "1.tar"], ["svc:0.8.0"])
        assert [read(archive, name) for name in manifest["Layers"]] == [BASE, PROGRAM]
        text = read(archive, manifest["Config"])
        assert manifest["Config"] == f"{hashlib.sha256(text).hexdigest()}.json"
        config: dict[str, Any] = json.loads(text)
        assert config["config"]["Entrypoint"] == ["svc"]
        assert config["config"]["Healthcheck"] == {"Test": ["CMD", "svc", "health"]}
        assert {member.mtime for member in archive} == {1_790_000_000}
