"""Checks of an edge account: what differs from the store is repaired, or shown with its remedy.

health_check      the check of a whole account; the parts below each return findings
findings          a difference between what should be at the platform and what is there
installation      the script, its cron, its database
worker_database   the tables, the configuration and the crons, as the worker's database tells them
hosts             routes, DNS records and zones
expiry            the end of the working token
account_state     the state that an account shows for an error
schedule          the time of an account's next check
"""
