"""In a process that imports this, the hash of a password costs nearly nothing.

As it is, one takes a quarter of a second of CPU, as much as three tests. Of the hashes only their parameters differ,
which stand in each of them.
"""

from __future__ import annotations

from argon2 import PasswordHasher

from svc.security import passwords

# What a service takes.
AS_IT_IS = passwords._HASHER
passwords._HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
