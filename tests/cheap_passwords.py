"""Import this module to make password hashing cheap in the current process.

A real hash takes a quarter of a second of CPU time, as much as three tests. Cheap hashes differ from real ones only in
their parameters, which are part of each hash.
"""

from __future__ import annotations

from argon2 import PasswordHasher

from svc.security import passwords

# The service's password hasher, with its real parameters.
AS_IT_IS = passwords._HASHER
passwords._HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
