"""The commands of `svc`, a file a subject: what each takes, and what it does.

Rooms are imported when a command needs them, so that `svc --help` is there at once.
"""
