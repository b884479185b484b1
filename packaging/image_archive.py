"""Read and write image archives for `docker load`."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_archive(built: Path, archive: Path, name: str, modified_at: int) -> None:
    """Write the image of the archive `built` to `archive`, without values that differ between two builds.

    Buildah stores the id and the host name of the container in which it built the image, and all names of the image on
    this machine. The layers do not change. `name`: the name and the tag of the image. `modified_at`: the time of all
    files in the archive, in seconds since 1970.
    """
    with tarfile.open(built) as given, tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as written:
        [manifest] = json.load(open_member(given, "manifest.json"))
        config = json.load(open_member(given, manifest["Config"]))
        config = {key: value for key, value in config.items() if key not in ("container", "container_config")}
        config["config"]["Hostname"] = ""
        text = json.dumps(config, sort_keys=True).encode()
        config_name = f"{hashlib.sha256(text).hexdigest()}.json"
        listed = {"Config": config_name, "Layers": manifest["Layers"], "RepoTags": [name]}
        files: dict[str, IO[bytes]] = {config_name: io.BytesIO(text)}
        files |= {layer: open_member(given, layer) for layer in manifest["Layers"]}
        files["manifest.json"] = io.BytesIO(json.dumps([listed]).encode())
        for path, file in files.items():
            described = tarfile.TarInfo(path)
            described.size = file.seek(0, io.SEEK_END)
            described.mtime = modified_at
            file.seek(0)
            written.addfile(described, file)


def open_member(archive: tarfile.TarFile, member: tarfile.TarInfo | str) -> IO[bytes]:
    """Open a file in the archive, or the file that a link points to. Raises FileNotFoundError for a folder."""
    file = archive.extractfile(member)
    if file is None:
        raise FileNotFoundError(str(member))
    return file
