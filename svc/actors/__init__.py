"""Actors: one task per Cloudflare account. The task runs the account's operations and recurring tasks (duties).

supervisor   starts an actor when its account has a queued request or a due duty
account      the actor: serves queued requests in order, then runs the duties that are due
mailbox      the queue of requests for one account
duty         a recurring task of an account
context      the objects that all actors and requests share: store, Cloudflare client, vault, clock, settings
backoff      the pause before a retry of failed work
operations   long-running operations, each with a row in the store: connect, install, update, renew, disconnect
checks       compare the state at Cloudflare with the store, and repair differences
sync         the Worker's configuration, tables, script and routes
requests     work that runs in the task of an HTTP request
service      work that is not specific to one request or actor: rollout, housekeeping, notifications
"""
