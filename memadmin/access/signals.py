"""Sign-ins in the audit log. Django's login signals are the only way to hear of all of them; the one use of signals we have."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from memadmin.access.actors import actor_of
from memadmin.access.models import Person, tidy_login
from memadmin.access.throttling import actor_at, target_of
from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.audit.models import Outcome


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
def note_failure(sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **details: Any) -> None:
    """Name the account, never what was typed: people type passwords into the wrong field."""
    login, now = str(credentials.get("login", "")), timezone.now()
    person = Person.objects.filter(login=tidy_login(login)).first()
    code = "unknown_login" if person is None else "wrong_password" if person.is_active else "inactive"
    actor, target, refused = actor_at(request, now=now), target_of(login), Outcome.REFUSED
    log.append(Action.LOGIN_FAILED, actor=actor, target=target, at=now, outcome=refused, reason_code=code)
