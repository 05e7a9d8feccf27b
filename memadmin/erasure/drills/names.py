"""The names of a drill: its made-up ids and words, and the two opaque actors who stand for people in it."""

from __future__ import annotations

import hashlib
import hmac

from django.conf import settings

from memadmin.erasure.models import Drill

INTAKE, REVIEWER, APPROVER = "intake", "reviewer", "approver"
PREFIX = "system/drill."


def person_of(drill: Drill) -> str:
    """Return the id of the made-up person. It is computed anew each time: where it is stored, an erasure has to find it."""
    return f"drill{_secret(drill, 'person')}"


def neighbour_of(drill: Drill) -> str:
    """Return an id that begins with the person's, and is another one."""
    return f"{person_of(drill)}0"


def canary_of(drill: Drill) -> str:
    """Return the word that the made-up person says."""
    return f"canary{_secret(drill, 'canary')}"


def actor_of(drill: Drill, role: str) -> str:
    return f"{PREFIX}{role}.{drill.uid.hex}"


def is_drill_actor(actor: str) -> bool:
    return actor.startswith(PREFIX)


def _secret(drill: Drill, what: str) -> str:
    key = hmac.new(settings.SECRET_KEY.encode(), b"memadmin drills", hashlib.sha256).digest()
    return hmac.new(key, f"{what}/{drill.uid}".encode(), hashlib.sha256).hexdigest()[:24]
