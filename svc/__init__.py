"""A management service for page counters and short links that run in the customers' own Cloudflare accounts.

cli          the command line; `commands` has a module for each command
main         starts the service from the packages below; `process` connects it to systemd
http         the HTTP server, and the endpoints for `/v1`, `/auth` and pushes from Workers
api          the API contract: what each endpoint accepts and returns
actors       one actor per Cloudflare account: operations, health checks, syncs and duties
mail         the email outbox, texts and delivery
edge         the client for Cloudflare's API
store        the database, on SQLite or PostgreSQL
worker       the Worker's bundle, configuration rows and counts
security     passwords, API keys, tokens and the vault
identity     the operator's name, logo and legal links
qr           QR codes as images and on a page to print
german       German texts of errors and findings
imports      imports of links and totals from other products
backup       backups and restores
field_check  a test of the service in a real Cloudflare account
web          the web application, and the documentation at /help
model        the data types
errors       exceptions and the catalog of error codes
config       the settings
metrics      all metrics
logs         logging as JSON objects
finding      the kinds of health check findings, with their texts
note_texts   the English texts of automatic notes
limits       rate limits
faults       logs an exception and suppresses it
addresses    bind addresses and email addresses
ids          random ids and secrets
clock        times in epoch milliseconds, and day numbers
atomic_file  locks on folders, and atomic replacement of files
remaining_resource
             resources that a disconnect could not remove from Cloudflare
"""
