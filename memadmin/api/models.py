"""Writes that came with a key, so that the same request sent twice is done once."""

from django.db import models


class KeyedCall(models.Model):
    """A write that a token has made under a key. It holds digests and the name of what was made, never content."""

    token = models.UUIDField()
    key_digest = models.CharField(max_length=64)
    request_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    identity = models.CharField(max_length=100)  # uid or number of what the write was about
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "key_digest"], name="keyed_call_once")]
        indexes = [models.Index(fields=["token", "created_at"], name="keyed_call_by_age")]
