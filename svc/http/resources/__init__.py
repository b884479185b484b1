"""The resources of the API: a handler for each endpoint that `svc/api` declares.

Helper modules for individual resources: `intake` (group commit of pushes), `report` (the numbers of a report), `spans`
(its days), `rankings` (lists ordered by clicks), `archive` (ZIP files), `badge`, `recipient_page` and `share_lookups`.
The resources of /auth (`sign_ups`, `sign_ins`, `password_resets` and `email_changes`) share `auth_limits`,
`auth_events`, `password_check` and `mailed_links`.
"""
