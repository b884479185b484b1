"""Loops for the whole service.

rollout          updates the accounts' workers: a few first, then all
housekeeping     deletes expired data
user_deletions   deletes users: disconnects their accounts, then deletes their totals
notifications    e-mails about problems of an account and their resolution
advice           daily advice about the limits of an account's Cloudflare plan
"""
