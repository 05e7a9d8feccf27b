"""People who sign in, and what each may see."""

import uuid

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models

from memadmin.store.models import Container


class PersonManager(BaseUserManager["Person"]):
    def get_by_natural_key(self, username: str | None) -> "Person":
        return self.get(login=username)


class Person(AbstractBaseUser):
    """One person with a login. `uid` is the only name that the audit log knows them by."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    login = models.CharField(max_length=150, unique=True)
    name = models.CharField(max_length=200, blank=True)
    roles = models.JSONField(default=list)
    all_containers = models.BooleanField(default=True)
    containers = models.ManyToManyField(Container, blank=True, related_name="+")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "login"
    REQUIRED_FIELDS: list[str] = []
    objects = PersonManager()
