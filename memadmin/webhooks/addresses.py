"""Where a webhook may go. Whoever subscribes must not make us knock at the doors of our own network."""

from __future__ import annotations

import ipaddress
import socket

from django.conf import settings


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
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None) or parsed
    return settings.WEBHOOKS_TO_PRIVATE_NETWORKS or (mapped.is_global and not mapped.is_multicast)
