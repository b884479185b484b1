"""The commands of `svc`, one module per topic, with their arguments and implementations.

Commands import other packages when they run, so that `svc --help` starts quickly.
"""
