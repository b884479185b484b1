"""Parsing of IP networks."""

from __future__ import annotations

import ipaddress

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

# The number of bits before the IPv4 address in an IPv4-mapped IPv6 address (::ffff:0:0/96).
_MAPPED_BITS = 96
# The prefix length of the smallest IPv6 network that internet providers assign to a customer. Devices change their
# address within the network.
_CUSTOMER_BITS = 64


def network_of(text: str) -> IpNetwork:
    """Return the network for the text of an IP address or network. Raises ValueError.

    The function ignores host bits, and converts IPv4-mapped IPv6 networks to IPv4.
    """
    network = ipaddress.ip_network(text, strict=False)
    if network.version == 4 or network.prefixlen < _MAPPED_BITS:
        return network
    mapped = network.network_address.ipv4_mapped
    return network if mapped is None else ipaddress.IPv4Network((mapped, network.prefixlen - _MAPPED_BITS))


def canonical_network(text: str) -> str:
    """Return the result of `network_of` in its shortest text form. Raises ValueError.

    A single address has no prefix length.
    """
    network = network_of(text)
    return str(network.network_address if network.prefixlen == network.max_prefixlen else network)


def customer_network(address: IpAddress) -> str:
    """Return the network that one customer uses: a single IPv4 address, or an IPv6 network of 64 bits."""
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, _CUSTOMER_BITS), strict=False))
