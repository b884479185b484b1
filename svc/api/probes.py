"""/healthz, /readyz, the API descriptions, and security.txt."""

from __future__ import annotations

from pydantic import Field

from svc.api.endpoint import JSON_TYPE, Endpoint
from svc.api.shape import Ok, ResponseBody

YAML_TYPE = "application/yaml"  # RFC 9512
MARKDOWN_TYPE = "text/markdown"
TEXT_TYPE = "text/plain"


class Alive(ResponseBody):
    """The process responds."""

    ok: bool = True
    client: str | None = Field(
        description="The client's IP address as seen by the service, or null if it is unknown. If this is the address"
        " of a proxy, the proxy or the `trusted_proxies` setting is not configured correctly."
    )


ALIVE = Endpoint(
    method="GET",
    path="/healthz",
    tag="service",
    summary="Liveness probe: the process responds",
    access="anybody",
    response=Alive,
)
READY = Endpoint(
    method="GET",
    path="/readyz",
    tag="service",
    summary="Readiness probe: the store can be read and written",
    access="anybody",
    response=Ok,
)
OPENAPI_JSON = Endpoint(
    method="GET",
    path="/openapi.json",
    tag="service",
    summary="The API description as OpenAPI 3.1.0 in JSON",
    access="anybody",
    response=None,
    media_types=(JSON_TYPE,),
)
OPENAPI_YAML = Endpoint(
    method="GET",
    path="/openapi.yaml",
    tag="service",
    summary="The API description as OpenAPI 3.1.0 in YAML",
    access="anybody",
    response=None,
    media_types=(YAML_TYPE,),
)
REFERENCE_MD = Endpoint(
    method="GET",
    path="/reference.md",
    tag="service",
    summary="The API reference as Markdown",
    access="anybody",
    response=None,
    media_types=(MARKDOWN_TYPE,),
)
REFERENCE = Endpoint(
    method="GET",
    path="/reference",
    tag="service",
    summary="The API reference as a page of the web application, or as Markdown if the client prefers it",
    access="anybody",
    response=None,
    media_types=("text/html", MARKDOWN_TYPE),
)
SECURITY_TXT = Endpoint(
    method="GET",
    path="/.well-known/security.txt",
    tag="service",
    addition=True,
    summary="How to report a vulnerability in this service (RFC 9116)",
    description="The response is 404 if the operator has set no contact.",
    access="anybody",
    response=None,
    media_types=(TEXT_TYPE,),
    codes=("not_found",),
)

ENDPOINTS = (ALIVE, READY, OPENAPI_JSON, OPENAPI_YAML, REFERENCE_MD, REFERENCE, SECURITY_TXT)
