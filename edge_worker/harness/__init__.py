"""Code shared by the demo, the benchmarks and the tests, which starts the real programs as processes.

service    `svc serve`, and a plain client for its API
installed  the Worker installed in an emulated account, and a receiver for its pushes
visitors   generated visitors, and an independent count of their visits
"""
