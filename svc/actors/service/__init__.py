"""Tasks for the whole service, and duties of accounts for emails and advice.

rollout                updates the accounts' workers: first a few, then all others
housekeeping           deletes expired data
user_deletions         deletes users: disconnects their accounts, then deletes their totals
operator_disconnects   disconnects accounts for the operator
notifications          sends emails about an account's problems and their resolution
advice                 computes daily advice about the limits of an account's Cloudflare plan
"""
