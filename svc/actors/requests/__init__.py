"""Work that runs in the task of an HTTP request, outside the account's actor. A disconnecting client cancels it.

sites, links, bulk, link_host   changes stored in one transaction; the actor's sync writes them to the worker
zones                           queries to Cloudflare about zones and hosts
live_reads                      reads of an account's own database, shared and cached for a few minutes
ledger                          the worker's and Cloudflare's numbers for the count audit of a day
"""
