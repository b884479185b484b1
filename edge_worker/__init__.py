"""The worker that runs in customers' accounts, and an emulator of the edge platform for tests.

src       the worker and the page snippet            tools     build and other programs that run under Node
test      tests in the real runtime                  harness   code shared by tests, benchmarks and the demo
emulator  the emulated edge platform                 demo      a guided run through the product
programs  processes forked for tests                 local_http  an HTTP client for services on this machine
"""
