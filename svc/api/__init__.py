"""The API contract as data: the requests, responses and error codes of each endpoint.

The package does no I/O, and does not depend on a web framework.

fields     types of single fields, with their JSON schemas
shape      base classes and strict parsing of bodies, queries and responses
errors     the errors that responses contain
endpoint   the description of an endpoint: method, path, access, request, response, error codes
me … push  one module per resource: its models, then its endpoints
contract   all endpoints
openapi    the OpenAPI 3.1.0 document
reference  the reference in Markdown
"""
