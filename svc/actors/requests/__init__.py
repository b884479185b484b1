"""Work that a request does in its own task, outside the account's actor; a client that disconnects ends it.

sites, links, bulk, link_host   changes, stored in one transaction; the actor's sync carries them to the worker
zones                           questions to the platform about zones and hosts
live_reads                      reads of an account's own database, shared and kept for some minutes
ledger                          the statement of a day's counts
"""
