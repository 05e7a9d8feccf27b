"""People who sign in, tokens that programs come with, and what each may see."""

import unicodedata
import uuid
from datetime import datetime
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models import Q

from memadmin.access.rights import Right
from memadmin.access.roles import Role, known_roles, rights_of
from memadmin.access.scopes import Scope, known_scopes
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


class ApiToken(models.Model):
    """What a program proves itself with. The secret is shown once; only its SHA-256 is kept, which is enough for 256 random bits."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    label = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, unique=True)
    beginning = models.CharField(max_length=16)  # of the secret, to recognise it by
    scopes = models.JSONField(default=list)  # names of `Scope`
    all_containers = models.BooleanField(default=False)
    containers = models.ManyToManyField(Container, blank=True, related_name="+")  # counts when all_containers is off
    owner_name = models.CharField(max_length=512)  # whose memories it writes and reads
    backend_roles = models.JSONField(default=list)
    all_access = models.BooleanField(default=False)  # reads and changes everybody's memories in its containers
    tenant = models.CharField(max_length=512, null=True)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=100)
    expires_at = models.DateTimeField(null=True)
    last_used_on = models.DateField(null=True)  # a day is enough to see which tokens are forgotten
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(label=""), name="token_has_label"),
            models.CheckConstraint(condition=~Q(owner_name=""), name="token_has_owner"),
        ]

    def __str__(self) -> str:
        return self.label

    def works(self, now: datetime) -> bool:
        """True while it is neither revoked nor past its time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    @property
    def scope_names(self) -> list[Scope]:
        return known_scopes(self.scopes)


class TokenUse(models.Model):
    """How many requests came with a token in the present minute. One row a token, shared by all processes."""

    token = models.OneToOneField(ApiToken, on_delete=models.CASCADE, primary_key=True, related_name="+")
    minute = models.BigIntegerField()  # since 1970
    requests = models.BigIntegerField()
