"""The commands of `svc`, one module per topic, with their arguments and implementations.

A command imports other packages only when it runs, so that `svc --help` starts quickly.
"""
