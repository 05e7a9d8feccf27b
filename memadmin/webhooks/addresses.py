"""Where a webhook may go. Whoever subscribes must not make us knock at the doors of our own network.

An installation may open private networks. Link-local addresses, where clouds hand out keys, stay closed all the same.
"""

from __future__ import annotations

import ipaddress
import socket

from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Where clouds answer any process with the machine's own keys, beside the link-local addresses.
METADATA = {ipaddress.ip_address(text) for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")}


class ForbiddenAddress(Exception):
    """The host leads into a private network, to this machine, or nowhere."""


def schemes() -> tuple[str, ...]:
    return ("https", "http") if settings.WEBHOOKS_TO_PRIVATE_NETWORKS else ("https",)


def address_of(host: str, port: int) -> str:
    """Return an address of the host to connect to, so that what was checked is what is used. Raises ForbiddenAddress."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ForbiddenAddress from None
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    if not addresses or not all(_is_allowed(address) for address in addresses):
        raise ForbiddenAddress
    return addresses[0]


def _is_allowed(address: str) -> bool:
    end = _end_of(ipaddress.ip_address(address))
    if end.is_link_local or end.is_multicast or end in METADATA:
        return False
    return settings.WEBHOOKS_TO_PRIVATE_NETWORKS or end.is_global


def _end_of(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one stands for, where it stands for one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
