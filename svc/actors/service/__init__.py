"""Tasks for the whole service, and the account duties that send emails and compute advice.

rollout                updates the accounts' Workers: first a few, then all others
housekeeping           deletes expired data
user_deletions         deletes users: disconnects their accounts, then deletes their totals
operator_disconnects   disconnects accounts at the operator's request
target_checks          requests the targets of links, and notifies users of broken targets
notifications          sends emails when an account has problems and when they are resolved
mailings               queues the email reports that are due
alerts                 queues emails about unusual hours, which `unusual_hours` detects
negative_binomial      probabilities for `unusual_hours`
advice                 computes daily advice about the limits of an account's Cloudflare plan
"""
