"""The parts of `svc check`. Each function checks one subject and says what is wrong and how to fix it.

finding        the result of a check
configuration  the configuration file, the key file, the operator's name and logo
machine        the clock and the free disk space
store          the database, backups, the Workers' versions, queued emails
mail           the mail server, and the DNS records of the sender's domain
address        the URL for pushes, and the address of the metrics
public_url     DNS, certificate and proxy in front of the service
"""
