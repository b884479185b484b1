"""Loops that work for the whole service, not for one account.

rollout          updates of the accounts' workers: a few first, then all
housekeeping     deletion of what is too old
user_deletions   the end of a user: accounts disconnected, totals deleted
notifications    e-mails about an account's troubles and their end
advice           the daily advice about the limits of an account's plan
"""
