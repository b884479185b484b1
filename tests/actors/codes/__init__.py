"""The table of error codes: how each code is caused, where it shows, and that its remedy works.

case             a row, and the steps that a test takes with it
tokens           rows about connects, renewals and the working token
worker           rows about installs and the installed worker
hosts            rows about sites, links and link hosts
"""
