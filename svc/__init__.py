"""A management service for page counters and short links that run in the customers' own Cloudflare accounts.

cli        the command line; `commands` has a module for each command
main       starts the service from the packages below
http       the HTTP server, and the endpoints under `/v1` and `/auth` and for pushes from workers
actors     one actor per Cloudflare account: operations, health checks, syncs and duties
mail       the email outbox, texts and delivery
edge       the client of Cloudflare's API
store      the database, on SQLite or PostgreSQL
worker     the worker's bundle, configuration rows and pushed counts
security   passwords, API keys, tokens and the vault
model      the data types
errors     exceptions and the catalogue of error codes
"""
