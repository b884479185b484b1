"""Importing this module makes password hashing cheap in the process.

A real hash takes a quarter of a second of CPU time, as much as three tests. Cheap hashes differ only in their
parameters, which each hash contains.
"""

from __future__ import annotations

from argon2 import PasswordHasher

from svc.security import passwords

# The hasher of the service.
AS_IT_IS = passwords._HASHER
passwords._HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
