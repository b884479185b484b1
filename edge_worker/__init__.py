"""The Worker that runs in customers' Cloudflare accounts, and a Cloudflare emulator for tests.

src       the Worker and the page snippet            tools     build and other programs that run under Node
test      tests in the real runtime                  harness   code shared by tests, benchmarks and the demo
emulator  the Cloudflare emulator                    demo      the program of `make demo`
programs  starts the emulator and the service        local_http  an HTTP client for services on this host
"""
