"""Where repeated writes of agents name a person's memories."""

from memadmin.api.models import KeyedCall
from memadmin.store.finding import raw_delete, searched
from memadmin.store.locations import ItemClass, Location, register

register(
    Location(
        name="api.keyed_calls",
        title="Keys of writes that may be sent again",
        order=17,
        table="api_keyedcall",
        columns={"identity": ItemClass.COPY},
        waived={
            "token": "the random name of a token",
            "key_digest": "a digest of a key that the sender made up",
            "request_digest": "a digest of a whole request, with its token in it",
        },
        item_class=ItemClass.COPY,
        records=True,
        find=searched("api.keyed_calls", KeyedCall, ("identity",), at="created_at", records=True),
        delete=raw_delete(KeyedCall),
    ),
)
