"""Checks of a Cloudflare account. Differences from the store are either repaired or shown with a remedy.

health_check      the check of a whole account, which runs the other checks
findings          differences between the expected and the actual state
installation      the script, its cron trigger, its bindings, its database
worker_database   the tables, configuration and reports in the worker's database
hosts             routes, DNS records and zones
expiry            expiry of the working token
account_state     the state that an account enters after an error
schedule          when an account is checked next
"""
