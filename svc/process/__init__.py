"""The service as an operating system process.

systemd      socket activation, readiness and the watchdog
standby      wait while another service uses the store
core_dumps   disable core dumps
"""
