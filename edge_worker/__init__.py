"""The worker that runs in customers' accounts, and the edge platform on this machine that it is tried out on.

src       the worker, and the page's snippet         tools     its build, and what else runs under Node
test      its tests, in the real runtime             harness   what tests, benchmarks and the demonstration share
emulator  the edge platform on this machine          demo      the whole journey for a newcomer
"""
