"""Checks that compare a Cloudflare account with the store.

A check repairs a difference, or shows it to the user with a remedy.

health_check      runs all the checks for an account
findings          differences between the expected and the actual state
installation      the script, its cron trigger, its bindings, its database
worker_database   the tables, configuration and reports in the Worker's database
hosts             routes, DNS records and zones
link_host_visit   how the link host responds to visitors
working_token     whether Cloudflare accepts the working token, and its permissions
expiry            expiry of the working token
account_state     the state that an account enters after an error
schedule          when an account is checked next
"""
