"""The file of a backup: a tar archive of `manifest.json`, `store.db` and, mostly, `vault.key`, in this order.

The manifest tells the size and digest of each part, so a reader takes nothing on trust. A part goes to a place that the
reader chooses: no name in the archive ever becomes a path.
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
# Of a manifest and a key file no more is read.
_SMALL_BYTES = 1_000_000
_PIECE_BYTES = 1_048_576


class BadBackup(Exception):
    """The file is no backup that can be used; the message says why."""


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class Part(_Shape):
    """What a part of the archive has to be."""

    sha256: str
    bytes: NonNegativeInt


class Manifest(_Shape):
    """What the backup says of itself. `opened`: how many of its sealed tokens the key opened, of `sealed`."""

    format: Literal[1]
    program: str
    schema_number: int = Field(alias="schema")
    engine: Literal["sqlite", "postgres"]
    created_at: str
    rows: dict[str, NonNegativeInt]
    sealed: NonNegativeInt
    opened: NonNegativeInt
    parts: dict[Literal["store.db", "vault.key"], Part]


def may_be_replaced(file: Path) -> bool:
    """Whether nothing but a backup, or an empty file, is lost when another backup takes its place. Raises OSError."""
    if not file.is_file():
        return False
    with file.open("rb") as start:
        head = start.read(tarfile.BLOCKSIZE)
    return not head or head.startswith(MANIFEST.encode() + b"\0")


def part_of(source: Path | bytes) -> Part:
    """What a part with these bytes has to be. Raises OSError."""
    if isinstance(source, bytes):
        return Part(sha256=hashlib.sha256(source).hexdigest(), bytes=len(source))
    with source.open("rb") as file:
        return Part(sha256=hashlib.file_digest(file, "sha256").hexdigest(), bytes=source.stat().st_size)


def write(out: IO[bytes], manifest: Manifest, sources: Mapping[str, Path | bytes], at_s: int) -> None:
    """Write the archive, dated `at_s` (epoch seconds), to a file or a stream. Raises OSError."""
    about = manifest.model_dump_json(by_alias=True, indent=1).encode() + b"\n"
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for name, source in {MANIFEST: about, **sources}.items():
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
    """Unpack the archive's store into the new file `store` (mode 0600), every part compared with the manifest.

    Returns the manifest and the key file's text; None: the backup is without. Raises BadBackup; OSError.
    """
    try:
        with tarfile.open(file, mode="r:") as archive:
            manifest = _manifest(archive)
            key = None
            for name, part in manifest.parts.items():
                member = _next(archive, name)
                if member.size != part.bytes:
                    raise BadBackup(f"its part {name} has another size than its manifest says")
                if name == STORE:
                    digest = _store(archive, member, store)
                else:
                    key = _small(archive, member)
                    digest = hashlib.sha256(key).hexdigest()
                if digest != part.sha256:
                    raise BadBackup(f"its part {name} is damaged: it has another digest than its manifest says")
            if archive.next() is not None:
                raise BadBackup("it has more parts than its manifest says")
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise BadBackup(f"it is no backup, or a damaged one: {error}") from error
    return manifest, key


def _manifest(archive: tarfile.TarFile) -> Manifest:
    text = _small(archive, _next(archive, MANIFEST))
    try:
        told = json.loads(text)
        if isinstance(told, dict) and isinstance(told.get("format"), int) and told["format"] > FORMAT:
            raise BadBackup(f"it has the format {told['format']}, of a newer program; this one knows {FORMAT}")
        manifest = Manifest.model_validate(told)
    except ValueError as error:  # pydantic's is one
        raise BadBackup("its manifest cannot be read") from error
    if STORE not in manifest.parts:
        raise BadBackup("its manifest names no store")
    return manifest


def _next(archive: tarfile.TarFile, name: str) -> tarfile.TarInfo:
    member = archive.next()
    if member is None:
        raise BadBackup(f"its part {name} is missing")
    # No link, folder, device or file with holes: those could name other files, or grow.
    if member.name != name or member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise BadBackup(f"where its part {name} should be is something else")
    return member


def _small(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    if member.size > _SMALL_BYTES:
        raise BadBackup(f"its part {member.name} is too large")
    return b"".join(_pieces(archive, member))


def _store(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> str:
    digest = hashlib.sha256()
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for piece in _pieces(archive, member):
            file.write(piece)
            digest.update(piece)
    return digest.hexdigest()


def _pieces(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    reader = archive.extractfile(member)
    assert reader is not None  # it is a regular file
    left = member.size
    while left:
        piece = reader.read(min(left, _PIECE_BYTES))
        if not piece:
            raise BadBackup(f"its part {member.name} ends too early")
        left -= len(piece)
        yield piece
