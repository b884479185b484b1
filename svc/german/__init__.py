"""German texts for codes of the API, which answers in English. E-mails and the web application use them.

errors      the messages and remedies of error codes
findings    health check findings and remaining resources
"""
