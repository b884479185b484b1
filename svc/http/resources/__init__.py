"""The resources of the API: a handler for each endpoint that `svc/api` declares.

Helper modules for individual resources: `intake` (group commit of pushes), `report` (the numbers of a report), `spans`
(its days), `rankings` (lists ordered by clicks), `archive` (ZIP files), `badge`, `recipient_page`, `share_lookups`,
`password_check` and `auth_events`.
"""
