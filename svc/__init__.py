"""A management service for page counters and short links in the customers' own Cloudflare accounts.

cli        the command line; `commands` has a module for each command
main       starts the service from the packages below
http       the HTTP server, and the resources of `/v1`, `/auth` and the push
actors     one actor per Cloudflare account: operations, health checks, syncs and duties
mail       the e-mail outbox, texts and delivery
edge       the client of Cloudflare's API
store      the database, on SQLite or PostgreSQL
worker     the worker's bundle, configuration rows and counts
security   passwords, API keys, tokens and the vault
model      the data types
errors     exceptions and the catalogue of error codes
"""
