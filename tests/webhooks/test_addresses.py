"""Where nothing is ever sent: our own network, and addresses where clouds hand out keys."""

import socket
from typing import Any

import pytest

from memadmin.outbound import addresses
from memadmin.outbound.addresses import ForbiddenAddress, address_of
from memadmin.webhooks import subscriptions
from memadmin.webhooks.models import Event, Subscription
from memadmin.webhooks.subscriptions import BadSubscription, SubscriptionSpec
from tests.factories import ACTOR, NOON

pytestmark = pytest.mark.django_db


def subscribe(url: str) -> Subscription:
    return subscriptions.subscribe(SubscriptionSpec(url=url, events=list(Event), containers=None), actor=ACTOR, now=NOON)[0]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]", "224.0.0.1", "100.64.0.1"]
)
def test_no_webhook_reaches_our_own_network(host: str, settings: Any):
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = False

    with pytest.raises(ForbiddenAddress):
        address_of(host.strip("[]"), 443)


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "[fe80::1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "100.100.100.200",
        "[fd00:ec2::254]",
    ],
)
def test_addresses_where_clouds_hand_out_keys_stay_closed_where_private_networks_are_open(host: str, settings: Any):
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = True

    with pytest.raises(ForbiddenAddress):
        address_of(host.strip("[]"), 443)
    assert address_of("10.0.0.1", 443) == "10.0.0.1"


@pytest.mark.parametrize("host", ["64:ff9b::7f00:1", "2002:7f00:1::1"])
def test_a_private_address_inside_another_form_is_refused(host: str, settings: Any):
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = False

    with pytest.raises(ForbiddenAddress):
        address_of(host, 443)


def test_a_host_with_one_private_address_among_public_ones_is_refused(settings: Any, monkeypatch: pytest.MonkeyPatch):
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = False
    found = [(2, 1, 6, "", ("93.184.216.34", 443)), (2, 1, 6, "", ("10.0.0.1", 443))]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *_, **__: found)

    with pytest.raises(ForbiddenAddress):
        address_of("mixed.example.org", 443)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://hooks.example.org",
        "ftp://x",
        "https://",
        "https://u:p@x.org/",
        "https://x.org/#a",
        "https://x.org:99999/",
        "https://x.org/a b",
        f"https://x.org/{'a' * 2000}",
        "javascript:alert(1)",
    ],
)
def test_an_address_of_another_form_is_refused(url: str):
    with pytest.raises(BadSubscription):
        subscribe(url)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "LOCALHOST.", "hooks.localhost", "10.0.0.1", "[::1]", "127.1", "0x7f000001", "2130706433"],
)
def test_an_address_of_our_own_network_is_refused_when_subscribing(host: str, settings: Any):
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = False

    with pytest.raises(BadSubscription, match="WEBHOOKS_TO_PRIVATE_NETWORKS"):
        subscribe(f"https://{host}/hook")


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "0xa9fea9fe"])
def test_an_address_where_clouds_hand_out_keys_is_refused_when_subscribing(host: str, settings: Any):
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = True

    with pytest.raises(BadSubscription, match="Nothing is ever sent"):
        subscribe(f"https://{host}/hook")


@pytest.mark.parametrize("host", ["93.184.216.34", "hooks.example.org", "localhost.example.org"])
def test_a_public_address_and_a_name_are_taken_without_looking_the_name_up(host: str, settings: Any, monkeypatch: pytest.MonkeyPatch):
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = False
    looked_up = socket.getaddrinfo

    def only_numbers(*args: Any, flags: int = 0, **details: Any) -> Any:
        assert flags & socket.AI_NUMERICHOST
        return looked_up(*args, flags=flags, **details)

    monkeypatch.setattr("socket.getaddrinfo", only_numbers)

    assert subscribe(f"https://{host}/hook")
