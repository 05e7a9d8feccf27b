from django.db import models

from memadmin.store.models.containers import Container
from memadmin.store.models.subjects import Subject


class RecallEvent(models.Model):
    """An agent recalled a memory: which, when, and in which session and invocation where it said so. No text.

    Best effort, like the hits it is written with: one may be lost. It stays when the memory has gone, and ends with its subject.
    """

    container = models.ForeignKey(Container, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    memory_uid = models.UUIDField()
    fact_key = models.CharField(max_length=512, null=True)  # as it was then: by it the event follows the fact through a rebuild
    session_ref = models.CharField(max_length=512, null=True)  # as the agent named it; null where it did not say
    invocation_id = models.CharField(max_length=512, null=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            # One hit for a memory and invocation. Where none was named each request is one: nulls differ from each other.
            models.UniqueConstraint(fields=["memory_uid", "invocation_id", "subject"], name="recall_once_per_invocation"),
        ]
        indexes = [
            models.Index(fields=["container", "at", "id"], name="recall_by_time"),
            models.Index(fields=["subject", "at"], name="recall_by_subject"),
        ]
