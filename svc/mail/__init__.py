"""Email.

outbox       sends the emails that are stored in the outbox table
compose      composes the email for a row of the outbox, if it is still needed
messages     creates each kind of email, in the reader's language
report       creates the emails with reports
alert        creates the emails about an unusual number of views
report_page  turns a report into HTML
words        types for a language's texts, and its number and date formats
english      the English texts, with those of reports in `english_report`
german       the German texts, with those of reports in `german_report`
body         the plain text and HTML parts of an email
transport    delivers emails to a folder or a mail server
smtp         a connection to a mail server
"""
