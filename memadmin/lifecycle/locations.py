"""Where retention runs and their previews name a person's memories."""

from memadmin.lifecycle.models import RunVictim
from memadmin.store.finding import owned
from memadmin.store.locations import ItemClass, Location, register, waive

WORD = "one of our own fixed words or numbers"

register(
    Location(
        name="lifecycle.run_victims",
        title="Lines of previews and runs",
        order=15,
        table="lifecycle_runvictim",
        columns={"item_uid": ItemClass.COPY, "subject_id": ItemClass.COPY},
        item_class=ItemClass.COPY,
        find=owned("lifecycle.run_victims", RunVictim, links=("item_uid",)),
    ),
)

waive("lifecycle_run", "holds a policy, numbers and who ran it; its lines are a place of their own")
waive("lifecycle_runkept", WORD)
