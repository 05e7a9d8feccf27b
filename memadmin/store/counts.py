"""How much the store holds."""

from __future__ import annotations

from memadmin.store.models import Container, Subject
from memadmin.store.models.subjects import COUNTERS


def store_counts(container: Container | None = None) -> dict[str, int]:
    """Return the counts of the whole store or of one container, from the live counters.

    Users without an id are not counted among the subjects; what they hold is counted everywhere else.
    """
    subjects = Subject.objects.all() if container is None else Subject.objects.of_container(container)
    sums = subjects.totals(COUNTERS)
    return {
        "containers": Container.objects.count() if container is None else 1,
        "subjects": subjects.attributed().count(),
        "sessions": sums["sessions"],
        "working": sums["working"],
        "messages": sums["messages"],
        "long_term": sums["long_term"],
        "history": sums["history"],
        "pinned": sums["pinned_sessions"] + sums["pinned_long_term"],
        "archived": sums["archived"],
    }
