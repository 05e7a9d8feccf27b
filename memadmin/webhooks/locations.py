"""Where events on their way to subscribers name a person's memories, and who has been told."""

from memadmin.store.finding import raw_delete, searched
from memadmin.store.locations import Act, ItemClass, Location, register, waive
from memadmin.webhooks.models import Delivery, Subscription

WORD = "one of our own fixed words or numbers"

register(
    Location(
        name="webhooks.deliveries",
        title="Events that wait for subscribers or were sent to them",
        order=16,
        table="webhooks_delivery",
        columns={"body": ItemClass.COPY},
        waived={"uid": "a random name of ours", "error_code": "the name of a class"},
        item_class=ItemClass.COPY,
        records=True,
        find=searched("webhooks.deliveries", Delivery, ("body",), at="created_at", records=True),
        delete=raw_delete(Delivery),
    ),
    Location(
        name="webhooks.addresses",
        title="Addresses of subscribers",
        order=77,
        table="webhooks_subscription",
        columns={"url": ItemClass.MENTION},
        waived={
            "uid": "a random name of ours",
            "secret": "random, to sign with",
            "events": WORD,
            "created_by": "an opaque name of an account",
        },
        item_class=ItemClass.MENTION,
        act=Act.KEEP,
        find=searched("webhooks.addresses", Subscription, ("url",), at="created_at"),
        example={"enabled": False},
    ),
    Location(
        name="webhooks.recipients",
        title="What subscribers have been told",
        order=101,
        item_class=ItemClass.RECIPIENT,
        act=Act.CLEAR,
        goes="Subscribers are told names of memories, no text and no user id. What they keep is theirs to erase.",
    ),
)

waive("webhooks_subscription_containers", "numbers of rows")
