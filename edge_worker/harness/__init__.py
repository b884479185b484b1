"""What the demonstration, the benchmarks and the tests share: real parts, started as processes.

service    `svc serve`, and a plain client of its API
installed  the worker installed in an emulated account, and a receiver of its pushes
visitors   made-up visitors, and an independent count of what they do
"""
