"""What keeps a drill away from real people: its request names the user that it has planted in the container that it has made, and no other.

Its actors may act on such a request alone, and no person's word counts on one.
"""

from __future__ import annotations

from memadmin.erasure.drills.names import APPROVER, actor_of, is_drill_actor, neighbour_of, person_of
from memadmin.erasure.models import Channel, Drill, DrillState, ErasureRequest, Kind
from memadmin.erasure.moves import Refusal
from memadmin.store.models import Container, Subject


class NotADrill(Refusal):
    """A drill's request has something in it that the drill has not planted, or somebody else acts on it."""

    code = "not_a_drill"


def check_approver(request: ErasureRequest, actor: str) -> None:
    """Raise NotADrill unless this is the approver of this drill, and its request is about what it has planted."""
    if request.drill is None or actor != actor_of(request.drill, APPROVER):
        raise NotADrill("A drill is approved by its own actor, and its actor approves nothing else.")
    check_only_planted(request)


def is_about(request: ErasureRequest, actor: str) -> bool:
    """Whether the rules of drills count here, and not those of people."""
    return request.drill_id is not None or is_drill_actor(actor)


def check_only_planted(request: ErasureRequest) -> None:
    """Raise NotADrill where the request is about anybody but the person whom its drill has planted."""
    drill = request.drill
    if drill is None or request.kind != Kind.SUBJECT or request.channel != Channel.DRILL or drill.state != DrillState.RUNNING:
        raise NotADrill("This is not the request of a drill that is under way.")
    named = list(request.subjects.values_list("container_id", "subject_id", "user_id"))
    planted = Subject.objects.filter(container_id=container_of(drill), user_id=person_of(drill)).values_list(
        "container_id", "pk", "user_id"
    )
    if not named or named != list(planted) or request.items.exists():
        raise NotADrill("The request of a drill is about its made-up person, and about nobody and nothing else.")
    _check_container(drill)


def _check_container(drill: Drill) -> None:
    """The container was made by this drill, in the moment of its beginning, and has its two made-up users only."""
    made = Container.objects.filter(pk=container_of(drill), name=container_name(drill)).exists()
    users = set(Subject.objects.filter(container_id=container_of(drill)).values_list("user_id", flat=True))
    if not made or not users <= {person_of(drill), neighbour_of(drill)}:
        raise NotADrill("Somebody has written into the container of the drill. It ends here: what is not made up is not touched.")


def container_name(drill: Drill) -> str:
    return f"Drill {drill.uid}"


def made_up_users(drill: Drill) -> list[int]:
    """Return the keys of the two users that the drill has made, as far as they are there."""
    own = Subject.objects.filter(container_id=container_of(drill), user_id__in=[person_of(drill), neighbour_of(drill)])
    return list(own.values_list("pk", flat=True))


def is_gone(drill: Drill) -> bool:
    """Whether the container of the drill, and with it all that hung on it, has been taken away."""
    return not Container.objects.filter(pk=container_of(drill)).exists()


def container_of(drill: Drill) -> int:
    """Return the key of the drill's container, one that no row has before it is made."""
    return drill.container_id or -1
