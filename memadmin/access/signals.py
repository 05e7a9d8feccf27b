"""Sign-ins in the audit log. Django's login signals are the only way to hear of all of them; the one use of signals we have."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.dispatch import receiver
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome

NOBODY = "system/login"


@receiver(user_logged_in)
@transaction.atomic
def note_login(sender: Any, user: Person, **details: Any) -> None:
    log.append(Action.LOGIN_SUCCEEDED, actor=actor_of(user), target=actor_of(user), at=timezone.now())


@receiver(user_logged_out)
@transaction.atomic
def note_logout(sender: Any, user: Person | None, **details: Any) -> None:
    if user is not None:  # signing out twice is no act
        log.append(Action.LOGIN_ENDED, actor=actor_of(user), target=actor_of(user), at=timezone.now())


@receiver(user_login_failed)
@transaction.atomic
def note_failure(sender: Any, credentials: dict[str, Any], **details: Any) -> None:
    """Name the account, never what was typed: people type passwords into the wrong field."""
    person = _person_called(str(credentials.get("login", "")))
    target = actor_of(person) if person else "person/unknown"
    code = "unknown_login" if person is None else "wrong_password" if person.is_active else "inactive"
    log.append(Action.LOGIN_FAILED, actor=NOBODY, target=target, at=timezone.now(), outcome=Outcome.REFUSED, reason_code=code)


def _person_called(login: str) -> Person | None:
    try:
        return Person.objects.get_by_natural_key(login)
    except Person.DoesNotExist:
        return None
