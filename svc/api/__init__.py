"""The contract as data: what each endpoint takes, answers and refuses. Pure; no framework, no store.

fields     the types of single fields, with their JSON schema
shape      bodies, queries and answers: parsed strictly, at the border
errors     how errors are shown
endpoint   an endpoint: method, path, who may, what it takes, answers and refuses
me … push  each resource: its models, then its endpoints
contract   all endpoints
openapi    the contract as an OpenAPI 3.1.0 document; reference: the same for people
"""
