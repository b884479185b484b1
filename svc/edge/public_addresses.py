"""Resolves hosts that users enter, and ensures that requests to these hosts cannot reach the service's own networks.

The caller must connect to exactly the addresses that were checked. A second lookup could have a different result (DNS
rebinding).
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import trio

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

# A function that returns the addresses of a host as strings, or raises socket.gaierror. It blocks its thread.
Lookup = Callable[[str], list[str]]

# Lookups have their own threads, so that a name server that does not respond cannot block other work. A lookup occupies
# its thread until the name server responds, even if the caller has stopped waiting. Requests for the titles of pages
# do not use these threads.
_THREADS = 4
_LOOKUPS = trio.CapacityLimiter(_THREADS)
LOOKUP_S = 5.0
_MAX_ADDRESSES = 4
# Errors that mean that the host has no addresses. All other errors concern the name server.
_NO_ADDRESSES = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})

# All IPv6 addresses that are publicly assigned are in this network (RFC 4291, IANA's registry of IPv6 address space).
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# IPv6 addresses with this prefix contain an IPv4 address: NAT64 (RFC 6052).
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NEVER = (
    ipaddress.ip_network("192.88.99.0/24"),  # 6to4 relays (RFC 7526)
    ipaddress.ip_network("168.63.129.16/32"),  # internal services of Azure's virtual machines
    ipaddress.ip_network("2001::/32"),  # Teredo (RFC 4380)
    ipaddress.ip_network("2002::/16"),  # 6to4 (RFC 3056)
)


class NotResolved(Exception):
    """Raised if the host has no addresses."""


class NotPublic(Exception):
    """Raised if one of the host's addresses is not public. The argument is this address."""


class LookupFailed(Exception):
    """Raised if the name server did not respond or failed."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return True if the address belongs to the public internet.

    Private, shared (100.64.0.0/10), loopback, link-local, multicast and reserved addresses are not public. If an IPv6
    address contains an IPv4 address, the function checks only the IPv4 address.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.scope_id is not None or address not in _GLOBAL_UNICAST:
            return False
    return address.is_global and not address.is_multicast and not any(address in each for each in _NEVER)


def system_lookup(host: str) -> list[str]:
    """Return the addresses of the host from the system's resolver. Blocks the thread. Raises socket.gaierror."""
    # The final dot makes the name absolute, so the resolver does not try the search domains of the local network.
    results = socket.getaddrinfo(f"{host}.", None, type=socket.SOCK_STREAM)
    return [cast("str", address[0]) for _, _, _, _, address in results]


async def public_addresses(
    host: str, lookup: Lookup = system_lookup, threads: trio.CapacityLimiter | None = None
) -> list[str]:
    """Return at most four addresses of the host, without duplicates, after checking that they are public.

    `threads`: limits the threads of the lookups; None for the limit that most lookups share.

    Raises NotResolved, NotPublic or LookupFailed.
    """
    texts: list[str] | None = None
    with trio.move_on_after(LOOKUP_S):
        try:
            texts = await trio.to_thread.run_sync(lookup, host, abandon_on_cancel=True, limiter=threads or _LOOKUPS)
        except socket.gaierror as error:
            if error.errno in _NO_ADDRESSES:
                raise NotResolved from None
            raise LookupFailed(error.strerror or "") from None
        except UnicodeError:  # a label is empty or too long
            raise NotResolved from None
    if texts is None:
        raise LookupFailed(f"no response within {LOOKUP_S:g} s")
    if not texts:
        raise NotResolved
    for text in texts:
        if not is_public(ipaddress.ip_address(text)):
            raise NotPublic(text)
    return list(dict.fromkeys(texts))[:_MAX_ADDRESSES]
