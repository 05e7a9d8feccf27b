"""People who sign in, and what each may see."""

import unicodedata
import uuid
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models import Q

from memadmin.access.rights import Right
from memadmin.access.roles import Role, known_roles, rights_of
from memadmin.store.models import Container


def tidy_login(login: str) -> str:
    """Return the one spelling under which a login is stored and looked up: `Ann ` and `ann` are one person."""
    return unicodedata.normalize("NFKC", login).strip().casefold()


class PersonManager(BaseUserManager["Person"]):
    def get_by_natural_key(self, username: str | None) -> "Person":
        return self.get(login=tidy_login(username or ""))


class Person(AbstractBaseUser):
    """One person with a login. `uid` is the only name that the audit log knows them by."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    login = models.CharField(max_length=150, unique=True)
    name = models.CharField(max_length=200, blank=True)
    roles = models.JSONField(default=list)  # names of `Role`; in the row, so that a page needs no second query
    all_containers = models.BooleanField(default=True)
    containers = models.ManyToManyField(Container, blank=True, related_name="+")  # counts when all_containers is off
    demo = models.BooleanField(default=False)  # made by the demo, gets a new password at every start
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "login"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = PersonManager()

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(login=""), name="person_has_login")]

    def __str__(self) -> str:
        return self.name or self.login

    def may(self, right: Right | str) -> bool:
        """True when one of this person's roles gives the right. A deactivated person may nothing."""
        return self.is_active and right in rights_of(self.roles)

    @property
    def role_names(self) -> list[str]:
        return [Role(role).label for role in known_roles(self.roles)]
