"""Bills of materials in the CycloneDX format.

`python packaging/sbom.py FILE…` validates files with the official schema.
"""

from __future__ import annotations

import hashlib
import json
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION = SchemaVersion.V1_6
SUFFIX = ".cdx.json"


def write_bill(artefact: Path, version: str, components: Iterable[Component], epoch: int) -> None:
    """Write the bill of materials next to the artefact. The file name is that of the artefact, followed by `.cdx.json`.

    `version`: the version of the service. `epoch`: the time of the release, in seconds since 1970. The same artefact
    and components give the same bytes.
    """
    digest = hashlib.sha256(artefact.read_bytes()).hexdigest()
    url = PackageURL("generic", None, "svc", version, {"file_name": artefact.name})
    service = Component(
        type=ComponentType.CONTAINER if artefact.suffix == ".tar" else ComponentType.APPLICATION,
        name=artefact.name,
        version=version,
        purl=url,
        bom_ref=url.to_string(),
        licenses=[LicenseFactory().make_from_string("MIT")],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
    )
    bom = Bom(
        components=components,
        metadata=BomMetaData(component=service, timestamp=datetime.fromtimestamp(epoch, UTC)),
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{url}#{digest}"),
    )
    bom.register_dependency(service, bom.components)
    text = make_outputter(bom, OutputFormat.JSON, _VERSION).output_as_string(indent=1)
    artefact.with_name(artefact.name + SUFFIX).write_text(text + "\n", encoding="utf-8")


def problem_of(bill: Path) -> str | None:
    """Return why a file is not a valid CycloneDX document in the version that this script writes, or None."""
    text = bill.read_text(encoding="utf-8")
    found = JsonStrictValidator(_VERSION).validate_str(text)
    if found is not None:
        return str(found)
    written = json.loads(text)["specVersion"]  # the schema accepts any version
    return None if written == _VERSION.to_version() else f"specVersion is {written}, not {_VERSION.to_version()}"


if __name__ == "__main__":
    problems = {name: problem_of(Path(name)) for name in sys.argv[1:]}
    for name, problem in problems.items():
        print(f"{name}: {problem or 'valid'}")
    sys.exit(1 if any(problems.values()) else 0)
