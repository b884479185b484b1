"""Work that runs in an HTTP request's task, outside the account's actor, and is cancelled if the client disconnects.

sites, links, bulk, link_host   changes stored in one transaction; the actor's sync writes them to the Worker
zones                           queries to Cloudflare about zones and hosts
live_reads                      reads from a Worker's database, shared and cached for a few minutes
ledger                          reads the Worker's and Cloudflare's numbers for the statement of counts for a day
"""
