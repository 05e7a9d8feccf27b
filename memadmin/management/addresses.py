"""The address that `up` listens on: read, judged, tried."""

import errno
import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Any

_SHAPE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:/\s]+):(?P<port>\d{1,5})")


class BadAddress(Exception):
    """The text says what an address looks like, or that the host is unknown."""


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self}/"

    @property
    def is_loopback(self) -> bool:
        """Whether nothing outside this machine can reach it; a name counts by everything it stands for."""
        return all(ipaddress.ip_address(place[4][0]).is_loopback for place in _resolve(self.host, self.port))


def parse_address(text: str) -> Address:
    """Read HOST:PORT; an IPv6 host stands in brackets. Raises BadAddress."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise BadAddress(f"{text!r} is not HOST:PORT, for example 127.0.0.1:8000 or [::1]:8000.")
    address = Address(match["host"].strip("[]"), int(match["port"]))
    _resolve(address.host, address.port)
    return address


def is_free(address: Address) -> bool:
    """Whether a server could listen there now. Raises BadAddress when the host is not one of this machine."""
    family, kind, protocol, _, place = _resolve(address.host, address.port)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does: a port just left counts as free
        try:
            probe.bind(place)
            probe.listen(1)
        except PermissionError as problem:
            raise BadAddress(f"Port {address.port} is for root only: choose one above 1023.") from problem
        except OSError as problem:
            if problem.errno == errno.EADDRNOTAVAIL:
                raise BadAddress(f"{address.host} is not an address of this machine.") from problem
            return False
    return True


def next_free(address: Address) -> Address | None:
    """Return the first free one of the next 20 ports, to suggest it."""
    candidates = (Address(address.host, port) for port in range(address.port + 1, min(address.port + 21, 65_536)))
    return next((candidate for candidate in candidates if is_free(candidate)), None)


def _resolve(host: str, port: int) -> list[tuple[Any, ...]]:
    try:
        return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (socket.gaierror, UnicodeError) as problem:
        raise BadAddress(f"The host {host!r} is unknown on this machine.") from problem
