"""E-mail.

outbox      sends each e-mail once; it is a row of the store from the commit of its cause on
compose     a row of the outbox becomes an e-mail, if it is still wanted
messages    the texts of all e-mails
body        plain text and HTML of one text
transport   to a folder or a mail server; `smtp` is one connection to a mail server
"""
