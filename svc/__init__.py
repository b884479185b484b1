"""The service: page counters and short links on the customers' own edge accounts.

main     the composition root; everything below is opened there
http     the /v1 API, /auth, the worker's push
actors   one per edge account: its operations, timers and report reads
edge     the edge platform's API
store    what is kept, on SQLite or PostgreSQL
model    the nouns; errors: everything that can be said no to
"""
