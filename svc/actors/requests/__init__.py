"""Work that runs in an HTTP request's task and not in the account's actor. It is cancelled if the client disconnects.

sites, links, bulk, link_host   changes in one transaction; the actor's sync then writes them to the Worker's database
zones                           queries to Cloudflare about zones and hosts
live_reads                      reads from a Worker's database; requests share a read, and its result is cached
ledger                          reads the Worker's and Cloudflare's numbers for a day's statement of counts
imported_months                 writes imported months to the Worker's database
web_analytics                   reads a host's page views from Cloudflare Web Analytics, for an import
page_titles                     reads the title of a public page, to propose a title for a link
"""
