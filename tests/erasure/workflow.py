"""What tests of the compliance workflow need: requests for users and items, carried as far as wanted."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.roles import Role
from memadmin.erasure import approving, bulk_decisions, deciding, discovery, grounds, intake
from memadmin.erasure.approving import Word
from memadmin.erasure.intake import Opening, Thing
from memadmin.erasure.look_alikes import candidates
from memadmin.erasure.models import Channel, ErasureRequest, Ground, IdentityLevel, Kind, Manifest, Origin
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from memadmin.store.locations import ItemClass
from memadmin.store.models import Container, ItemType
from tests.factories import NOON
from tests.people import make_person


def officer(login: str = "cora") -> Person:
    return Person.objects.filter(login=login).first() or make_person(Role.COMPLIANCE, login=login)


def opened(user_id: str = "ann", *, containers: Iterable[Container] | None = None, now: datetime = NOON, **details: Any) -> ErasureRequest:
    """Take in a request to erase everything of the users with exactly this id; look-alikes are left to decide."""
    wanted = [each.pk for each in (Container.objects.all() if containers is None else containers)]
    found = candidates(user_id, wanted)
    given = {
        "kind": Kind.SUBJECT,
        "ground": grounds.usual_for(details.get("kind", Kind.SUBJECT)) or Ground.OTHER,
        "channel": Channel.PAGE,
        "identity": IdentityLevel.TOKEN,
        "ticked": [each for each in found if each.origin == Origin.GIVEN],
        "others": [(each, None) for each in found if each.origin != Origin.GIVEN],
        **details,
    }
    actor = given.pop("actor", None) or actor_of(officer())
    return intake.open_request(Opening(**given), actor=actor, now=now)


def opened_for(*rows: Any, kind: Kind = Kind.MEMORY, now: datetime = NOON, **details: Any) -> ErasureRequest:
    """Take in a request for single rows of the store."""
    types = {"Session": ItemType.SESSION, "WorkingMemory": ItemType.WORKING, "LongTermMemory": ItemType.LONG_TERM}
    things = [Thing(types[type(row).__name__], row.uid, row.container_id, row.subject_id) for row in rows]
    given = {"ground": Ground.OTHER, "identity": IdentityLevel.TOKEN, **details}
    opening = Opening(kind=kind, channel=Channel.PAGE, things=things, **given)
    return intake.open_request(opening, actor=actor_of(officer()), now=now)


def discovered(request: ErasureRequest, *, now: datetime = NOON) -> Manifest:
    """Run the search to its end, and return the manifest."""
    manifest = discovery.start(request, actor=actor_of(officer()), now=now)
    run_inline(Job.objects.get(target=discovery.job_target(manifest)), now=now)
    request.refresh_from_db()
    manifest.refresh_from_db()
    return manifest


def submitted(request: ErasureRequest, *, now: datetime = NOON, reviewer: Person | None = None) -> Manifest:
    """Search, decide as planned, freeze."""
    manifest = discovered(request, now=now)
    actor = actor_of(reviewer or officer())
    for item_class in (ItemClass.MIXED, ItemClass.MENTION):
        if manifest.items.filter(item_class=item_class, decision="waiting").exists():
            bulk_decisions.accept_planned(request, item_class, actor=actor, now=now)
    deciding.submit(request, actor=actor, now=now)
    manifest.refresh_from_db()
    return manifest


def approved(request: ErasureRequest, *, now: datetime = NOON, by: Person | None = None) -> None:
    """Search, decide, freeze, and let another officer approve."""
    submitted(request, now=now)
    approving.approve(request, a_word(request, now=now), actor=actor_of(by or officer("carl")), now=now)


def a_word(request: ErasureRequest, *, now: datetime = NOON, **details: Any) -> Word:
    given = {"digest": request.manifest_digest, "number": str(request.number), "proved_at": now - timedelta(minutes=1), **details}
    return Word(**given)


def found(manifest: Manifest) -> dict[tuple[str, str, str], int]:
    """Return the counts of a manifest by place, class and act."""
    return {(line.location, line.item_class, line.act): line.items for line in manifest.lines.all()}


def answers(manifest: Manifest) -> dict[str, str]:
    return dict(manifest.answers.values_list("location", "answer"))
