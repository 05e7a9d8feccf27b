"""Seed row A53: erasing a source reaches the summary."""

import pytest

from memadmin.audit.models import AuditEntry
from memadmin.erasure.models import ScopeItem
from memadmin.store.models import Archived, LongTermMemory
from tests.erasure.workflow import discovered, opened_for
from tests.runs import carry_out, preview
from tests.summaries import HOURS, SUMMARY, a_container, fill

pytestmark = pytest.mark.django_db


def test_a53_a_request_about_a_source_finds_the_summary_by_provenance(model):
    container = a_container()
    fill(container)
    source = LongTermMemory.objects.get(text=HOURS[0])
    request = opened_for(source)
    carry_out(preview(container))
    summary = LongTermMemory.objects.get(text=SUMMARY)

    manifest = discovered(request)

    assert Archived.objects.filter(uid=source.uid).exists()
    assert summary.uid in set(ScopeItem.objects.filter(manifest=manifest).values_list("item_uid", flat=True))
    assert AuditEntry.objects.filter(action="memory.summarised").exists()
