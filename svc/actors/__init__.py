"""One actor for each edge account; it owns that account's operations and timers.

supervisor   starts an actor when its account has mail or something due
account      the actor: answers its mail in turn, then does what is due
mailbox      the questions that wait for one account
duty         a recurring task of an account
operations   long pieces of work, each a row of the store: connect, install, renew, disconnect
checks       comparisons of the platform with the store, and repairs
sync         the worker's configuration, tables and script, and the routes to it
requests     work for a request, in the request's own task
service      loops for the whole service: rollout, housekeeping, notifications
"""
