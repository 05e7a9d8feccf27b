"""Where retention runs and their previews name a person's memories."""

from memadmin.lifecycle.models import Approval, RunCluster, RunVictim
from memadmin.store.finding import owned, raw_delete, searched
from memadmin.store.locations import Act, ItemClass, Location, register, waive

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
        delete=raw_delete(RunVictim),
    ),
    Location(
        name="lifecycle.run_clusters",
        title="Clusters of victims that become a summary",
        order=15,
        table="lifecycle_runcluster",
        columns={"summary_uid": ItemClass.COPY, "subject_id": ItemClass.COPY},
        waived={"why": WORD},
        item_class=ItemClass.COPY,
        find=owned("lifecycle.run_clusters", RunCluster, links=("summary_uid",)),
        delete=raw_delete(RunCluster),
        example={"first": 1, "last": 2, "room": 2},
    ),
    Location(
        name="lifecycle.approvals",
        title="Reasons that people gave for approving or refusing runs",
        order=74,
        table="lifecycle_approval",
        columns={"reason": ItemClass.MENTION},
        waived={"digest": WORD, **dict.fromkeys(("asked_by", "decided_by"), "an opaque name of an account, job or token")},
        item_class=ItemClass.MENTION,
        act=Act.REDACT,
        find=searched("lifecycle.approvals", Approval, ("reason",)),
    ),
)

waive("lifecycle_run", "holds a policy, numbers and who ran it; its lines are a place of their own")
waive("lifecycle_runkept", WORD)
waive("lifecycle_runrange", WORD)
