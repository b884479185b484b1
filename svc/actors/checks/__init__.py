"""Checks that compare a Cloudflare account with the store.

A difference is either repaired or shown to the user with a remedy.

health_check      runs all the checks for an account
findings          differences between the expected and the actual state
installation      the script, its cron trigger, its bindings, its database
worker_database   the tables, configuration and reports in the Worker's database
hosts             routes, DNS records and zones
link_host_visit   what a visitor of the link host gets
expiry            expiry of the working token
account_state     the state that an account enters after an error
schedule          when an account is checked next
"""
