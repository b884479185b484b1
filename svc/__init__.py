"""The service: page counters and short links on the customers' own edge accounts.

main       opens everything below and serves; `cli` is the way in, `commands` has a file for each `svc` command
http       the HTTP server and the resources of `/v1`, `/auth` and the push
actors     one actor for each edge account: its operations, checks, syncs and timers
mail       e-mail: the outbox, the texts, the delivery
edge       the edge platform's API
store      all that is kept, on SQLite or PostgreSQL
worker     the worker's bundle, its configuration rows and its counts
security   passwords, keys, tokens and the vault
model      the nouns; `errors` has every refusal
"""
