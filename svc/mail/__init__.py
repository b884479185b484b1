"""Email.

outbox      sends the emails that are stored in the outbox table
compose     turns a row of the outbox into an email, if it is still needed
messages    all emails, in the language of the reader
words       the shape of the texts of a language, and its formats
english     the English texts
german      the German texts
body        the plain text and HTML parts of an email
transport   delivers emails to a folder or a mail server
smtp        a connection to a mail server
"""
