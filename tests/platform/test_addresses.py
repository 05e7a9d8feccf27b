import socket
from collections.abc import Iterator

import pytest

from memadmin.management.addresses import Address, BadAddress, is_free, next_free, parse_address


@pytest.fixture
def taken() -> Iterator[Address]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield Address("127.0.0.1", server.getsockname()[1])


@pytest.mark.parametrize(
    ("text", "shown"), [("127.0.0.1:8000", "127.0.0.1:8000"), ("localhost:80", "localhost:80"), ("[::1]:8000", "[::1]:8000")]
)
def test_host_and_port_are_read(text: str, shown: str):
    assert str(parse_address(text)) == shown


@pytest.mark.parametrize(
    "text", ["", "8000", ":8000", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x", "::1:8000", "http://x:80", "a b:80"]
)
def test_anything_else_is_refused_with_an_example(text: str):
    with pytest.raises(BadAddress, match=r"127\.0\.0\.1:8000"):
        parse_address(text)


def test_an_unknown_host_is_named():
    with pytest.raises(BadAddress, match=r"nowhere\.invalid"):
        parse_address("nowhere.invalid:8000")


@pytest.mark.parametrize(("host", "inside"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False)])
def test_only_a_loopback_address_stays_on_this_machine(host: str, inside: bool):
    assert Address(host, 8000).is_loopback is inside


def test_a_taken_port_is_seen_and_another_suggested(taken: Address):
    other = next_free(taken)

    assert not is_free(taken)
    assert other is not None
    assert other.port > taken.port


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(BadAddress, match=r"192\.0\.2\.1"):
        is_free(Address("192.0.2.1", 8000))
