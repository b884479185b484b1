"""One actor for each Cloudflare account. The actor owns that account's operations and timers.

supervisor   starts an actor when its account has a queued request or a due duty
account      the actor: serves queued requests in order, then runs the duties that are due
mailbox      the queue of requests for one account
duty         a recurring task of an account
backoff      the pause between attempts of work that fails
operations   long-running work, each with a row in the store: connect, install, renew, disconnect
checks       comparisons of Cloudflare's state with the store, and repairs
sync         the worker's configuration, tables, script and routes
requests     work that runs in the task of an HTTP request
service      work that is not specific to one request or actor: rollout, housekeeping, notifications
"""
