"""The table of error codes. Each row causes a code, checks where the code appears, and checks that its remedy works.

case             the class of a row, and the steps that run it
tokens           rows about connect operations, renewals and the working token
worker           rows about installs and the installed Worker
hosts            rows about sites, links and link hosts
"""
