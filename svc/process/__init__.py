"""The service as an operating system process.

systemd      socket activation, readiness and the watchdog
standby      waits while another service uses the store
core_dumps   disables core dumps
garbage      postpones garbage collection during startup
"""
