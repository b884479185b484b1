"""Email.

outbox      sends the emails that are stored in the outbox table
compose     turns a row of the outbox into an email, if it is still needed
messages    the texts of all emails
body        the plain text and HTML parts of an email
transport   delivers emails to a folder or a mail server
smtp        a connection to a mail server
"""
