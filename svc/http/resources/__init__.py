"""The resources of the API: a handler for each endpoint that `svc/api` declares.

Besides, the parts of a single resource: `intake` (pushes written together), `report` (a report's numbers), `rankings`
(orders by clicks), `archive` (ZIP files), `qr`, `password_check` and `sign_in_trail`.
"""
