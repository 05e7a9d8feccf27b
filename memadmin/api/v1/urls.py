"""The addresses of our own API."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from memadmin.api.v1 import (
    access_exports,
    approving,
    audit,
    base,
    bulk,
    containers,
    disclosures,
    erasing,
    feedback,
    governing,
    memories,
    pins,
    policies,
    resuming,
    schema,
    summaries,
    telling,
    webhooks,
)


class Anything(StringConverter):
    """Like `path`, line breaks and all."""

    regex = r"[\s\S]+"


register_converter(Anything, "anything")

BASE = "api/v1"
ONE = f"{BASE}/containers/<str:cid>"

urlpatterns = [
    path(f"{BASE}/schema", schema.Schema.as_view()),
    path(f"{BASE}/containers", containers.Containers.as_view()),
    path(ONE, containers.OneContainer.as_view()),
    path(f"{ONE}/hard-limit", containers.HardLimit.as_view()),
    path(f"{ONE}/users", containers.Users.as_view()),
    path(f"{ONE}/export", containers.Export.as_view()),
    path(f"{ONE}/memories", memories.Memories.as_view()),
    path(f"{ONE}/memories/<uuid:uid>", memories.Memory.as_view()),
    path(f"{ONE}/memories/<uuid:uid>/pin", memories.MemoryPin.as_view()),
    path(f"{ONE}/memories/<uuid:uid>/history", memories.HistoryEntries.as_view()),
    path(f"{ONE}/history", memories.NewHistory.as_view()),
    path(f"{ONE}/recall", memories.Recall.as_view()),
    path(f"{ONE}/feedback", feedback.FeedbackReports.as_view()),
    path(f"{ONE}/disclosures", disclosures.Disclosures.as_view()),
    path(f"{ONE}/disclosures/at-once", disclosures.DisclosuresAtOnce.as_view()),
    path(f"{ONE}/bulk", bulk.Bulk.as_view()),
    path(f"{ONE}/pins", pins.Pins.as_view()),
    path(f"{ONE}/pins/review", pins.PinReview.as_view()),
    path(f"{ONE}/policies", policies.Policies.as_view()),
    path(f"{ONE}/policies/differences", policies.PolicyDifferences.as_view()),
    path(f"{ONE}/policies/<int:number>", policies.OnePolicy.as_view()),
    path(f"{ONE}/policies/<int:number>/publish", policies.PolicyPublish.as_view()),
    path(f"{ONE}/policies/<int:number>/unschedule", policies.PolicyUnschedule.as_view()),
    path(f"{ONE}/policies/<int:number>/roll-back", policies.PolicyRollBack.as_view()),
    path(f"{ONE}/policies/<int:number>/copy", policies.PolicyCopy.as_view()),
    path(f"{ONE}/summarising", summaries.Summarising.as_view()),
    path(f"{ONE}/preview", governing.Preview.as_view()),
    path(f"{ONE}/runs", governing.Runs.as_view()),
    path(f"{ONE}/archive", governing.Archive.as_view()),
    path(f"{ONE}/archive/restore", governing.ArchiveRestoreSeveral.as_view()),
    path(f"{ONE}/archive/<uuid:uid>/restore", governing.ArchiveRestore.as_view()),
    path(f"{BASE}/runs/<int:number>", governing.OneRun.as_view()),
    path(f"{BASE}/runs/<int:number>/victims", governing.Victims.as_view()),
    path(f"{BASE}/runs/<int:number>/clusters", summaries.Clusters.as_view()),
    path(f"{BASE}/runs/<int:number>/start", governing.RunStart.as_view()),
    path(f"{BASE}/runs/<int:number>/approve", approving.RunApprove.as_view()),
    path(f"{BASE}/runs/<int:number>/refuse", approving.RunRefuse.as_view()),
    path(f"{BASE}/runs/<int:number>/restore", governing.RunRestore.as_view()),
    path(f"{BASE}/erasure-requests", erasing.ErasureRequests.as_view()),
    path(f"{BASE}/erasure-requests/<int:number>", erasing.OneErasureRequest.as_view()),
    path(f"{BASE}/erasure-requests/<int:number>/access-export", access_exports.AccessExports.as_view()),
    path(f"{BASE}/erasure-requests/<int:number>/go-on", resuming.ErasureGoOn.as_view()),
    path(f"{BASE}/erasure-requests/<int:number>/told", telling.ErasureTold.as_view()),
    path(f"{BASE}/audit", audit.AuditEntries.as_view()),
    path(f"{BASE}/audit/export", audit.AuditExport.as_view()),
    path(f"{BASE}/webhooks", webhooks.Webhooks.as_view()),
    path(f"{BASE}/webhooks/<uuid:uid>", webhooks.OneWebhook.as_view()),
    path(f"{BASE}/webhooks/<uuid:uid>/deliveries", webhooks.Deliveries.as_view()),
    path("api/<anything:rest>", base.Nowhere.as_view()),
]
