"""The backup file: a tar archive with `manifest.json`, `store.db` and usually `vault.key`, in this order.

The manifest contains the size and digest of each file, which `unpack` checks. `unpack` never uses the names in the
archive as paths.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from typing import IO, TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FORMAT = 1
MANIFEST, STORE, KEY = "manifest.json", "store.db", "vault.key"
# Maximum size of a manifest or a key file.
_SMALL_PART_BYTES = 1_000_000
_CHUNK_BYTES = 1_048_576


class BadBackup(Exception):
    """Raised if the file cannot be used as a backup. The message gives the reason."""


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class Part(_Shape):
    """The expected size (in bytes) and SHA-256 digest of one file in the archive."""

    sha256: str
    bytes: NonNegativeInt


class Manifest(_Shape):
    """The contents of `manifest.json`.

    `sealed`: the number of encrypted tokens in the store. `opened`: the number of these tokens that the backup's key
    can decrypt.
    """

    format: Literal[1]
    program: str
    schema_number: int = Field(alias="schema")
    engine: Literal["sqlite", "postgres"]
    created_at: str
    rows: dict[str, NonNegativeInt]
    sealed: NonNegativeInt
    opened: NonNegativeInt
    parts: dict[Literal["store.db", "vault.key"], Part]


def can_be_replaced(file: Path) -> bool:
    """Return True if a new backup may overwrite the file, because it is a backup or empty. Raises OSError."""
    if not file.is_file():
        return False
    with file.open("rb") as start:
        head = start.read(tarfile.BLOCKSIZE)
    return not head or head.startswith(MANIFEST.encode() + b"\0")


def describe_part(source: Path | bytes) -> Part:
    """Return the size and SHA-256 digest of a file or of bytes. Raises OSError."""
    if isinstance(source, bytes):
        return Part(sha256=hashlib.sha256(source).hexdigest(), bytes=len(source))
    with source.open("rb") as file:
        return Part(sha256=hashlib.file_digest(file, "sha256").hexdigest(), bytes=source.stat().st_size)


def write(out: IO[bytes], manifest: Manifest, sources: Mapping[str, Path | bytes], at_s: int) -> None:
    """Write the archive, dated `at_s` (epoch seconds), to a file or a stream. Raises OSError."""
    manifest_json = manifest.model_dump_json(by_alias=True, indent=1).encode() + b"\n"
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for name, source in {MANIFEST: manifest_json, **sources}.items():
            member = tarfile.TarInfo(name)
            member.mode, member.mtime = 0o600, at_s
            if isinstance(source, bytes):
                member.size = len(source)
                archive.addfile(member, io.BytesIO(source))
            else:
                member.size = source.stat().st_size
                with source.open("rb") as file:
                    archive.addfile(member, file)


def unpack(file: Path, store: Path) -> tuple[Manifest, bytes | None]:
    """Unpack the archive's store into the new file `store` (mode 0600) and compare every part with the manifest.

    Returns the manifest, and the content of the key file or None. Raises BadBackup or OSError.
    """
    try:
        with tarfile.open(file, mode="r:") as archive:
            manifest = _manifest(archive)
            key = None
            for name, part in manifest.parts.items():
                member = _next_part(archive, name)
                if member.size != part.bytes:
                    raise BadBackup(f"the size of its part {name} does not match its manifest")
                if name == STORE:
                    digest = _unpack_store(archive, member, store)
                else:
                    key = _read_small_part(archive, member)
                    digest = hashlib.sha256(key).hexdigest()
                if digest != part.sha256:
                    raise BadBackup(f"its part {name} is damaged: the digest does not match its manifest")
            if archive.next() is not None:
                raise BadBackup("it has more parts than its manifest lists")
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise BadBackup(f"it is not a backup, or it is damaged: {error}") from error
    return manifest, key


def _manifest(archive: tarfile.TarFile) -> Manifest:
    text = _read_small_part(archive, _next_part(archive, MANIFEST))
    try:
        data = json.loads(text)
        if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
            raise BadBackup(f"its format {data['format']} needs a newer program; this program supports format {FORMAT}")
        manifest = Manifest.model_validate(data)
    except ValueError as error:  # includes pydantic.ValidationError
        raise BadBackup("its manifest cannot be read") from error
    if STORE not in manifest.parts:
        raise BadBackup("its manifest lists no store")
    return manifest


def _next_part(archive: tarfile.TarFile, name: str) -> tarfile.TarInfo:
    member = archive.next()
    if member is None:
        raise BadBackup(f"its part {name} is missing")
    # Reject links, folders, devices and sparse files. They could refer to other files, or become much larger when
    # unpacked.
    if member.name != name or member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise BadBackup(f"it contains a different entry in place of its part {name}")
    return member


def _read_small_part(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    if member.size > _SMALL_PART_BYTES:
        raise BadBackup(f"its part {member.name} is too large")
    return b"".join(_chunks(archive, member))


def _unpack_store(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> str:
    digest = hashlib.sha256()
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in _chunks(archive, member):
            file.write(chunk)
            digest.update(chunk)
    return digest.hexdigest()


def _chunks(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    reader = archive.extractfile(member)
    assert reader is not None  # a regular file always has a reader
    remaining_bytes = member.size
    while remaining_bytes:
        chunk = reader.read(min(remaining_bytes, _CHUNK_BYTES))
        if not chunk:
            raise BadBackup(f"its part {member.name} ends too early")
        remaining_bytes -= len(chunk)
        yield chunk
