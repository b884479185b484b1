"""The service as a process of the system.

systemd      sockets that are handed over, readiness and the watchdog
standby      waits for the store that another service has
core_dumps   switches them off
"""
