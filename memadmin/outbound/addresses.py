"""Where a message to another system may go. Whoever names an address must not make us knock at the doors of our own network.

An installation may open private networks. Link-local addresses, where clouds hand out keys, stay closed all the same.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import urlsplit

from django.conf import settings

LONGEST = 2_000  # characters
_VISIBLE = re.compile(r"[!-~]+")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Where clouds answer any process with the machine's own keys, beside the link-local addresses.
METADATA = {ipaddress.ip_address(text) for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")}


class ForbiddenAddress(Exception):
    """The host leads into a private network, to this machine, or nowhere."""


class BadAddress(ValueError):
    """The address cannot be one that messages are sent to; the message says why."""


def schemes() -> tuple[str, ...]:
    return ("https", "http") if settings.WEBHOOKS_TO_PRIVATE_NETWORKS else ("https",)


def check(url: str) -> None:
    """Raises BadAddress. Where a name leads is looked at each time that something is sent; an address in numbers at once."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise BadAddress("The address cannot be read.") from None
    if len(url) > LONGEST or not _VISIBLE.fullmatch(url) or not parts.hostname or parts.username or parts.fragment:
        raise BadAddress(f"The address is one like https://hooks.example.org/path, without a user, at most {LONGEST} characters.")
    if parts.scheme not in schemes():
        raise BadAddress(f"The address begins with {' or '.join(f'{scheme}://' for scheme in schemes())}.")
    found = _without_looking_up(parts.hostname)
    if found and not _is_allowed(found):
        raise BadAddress(_closed())


def _without_looking_up(host: str) -> str | None:
    """Return the address of a host that is one, however it is written (`0x7f.1` is 127.0.0.1), or this machine; None for other names."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return "127.0.0.1"
    try:
        found = socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0]).partition("%")[0]


def _closed() -> str:
    if settings.WEBHOOKS_TO_PRIVATE_NETWORKS:
        return "Nothing is ever sent to this address: at such ones clouds hand out keys, or many machines listen."
    return (
        "This address lies in a private network, or is this machine. Nothing is sent there unless WEBHOOKS_TO_PRIVATE_NETWORKS=true is set."
    )


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
