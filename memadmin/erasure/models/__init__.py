"""The tables of the compliance workflow: requests, what they are about, manifests of what was found, and approvals."""

from memadmin.erasure.models.access_exports import AccessExport, ExportPart, ExportState, ExportSubject
from memadmin.erasure.models.approvals import Approval
from memadmin.erasure.models.backups import BackupKind, BackupRecord, InventoryCheck
from memadmin.erasure.models.certificates import Certificate, Commitment, Level
from memadmin.erasure.models.corrections import Correction, WrongLeft
from memadmin.erasure.models.disclosures import Disclosure
from memadmin.erasure.models.drills import Drill, DrillPlace, DrillState
from memadmin.erasure.models.executions import PlaceOutcome
from memadmin.erasure.models.manifests import BulkDecision, Decision, Line, LocationAnswer, Manifest, ManifestItem, ScopeItem
from memadmin.erasure.models.rechecks import FoundAgain, FoundAgainKind, Recheck, RecheckKind
from memadmin.erasure.models.recipients import NoticeState, Recipient, RecipientKind, RecipientNotice
from memadmin.erasure.models.requests import (
    Channel,
    ErasureRequest,
    Ground,
    IdentityLevel,
    Kind,
    NoteKind,
    Origin,
    Profile,
    RequestItem,
    RequestNote,
    RequestSubject,
    Status,
)
from memadmin.erasure.models.verifications import Finding, FindingKind, Outcome, Verification

__all__ = [
    "AccessExport",
    "Approval",
    "BackupKind",
    "BackupRecord",
    "BulkDecision",
    "Certificate",
    "Channel",
    "Commitment",
    "Correction",
    "Decision",
    "Disclosure",
    "Drill",
    "DrillPlace",
    "DrillState",
    "ErasureRequest",
    "ExportPart",
    "ExportState",
    "ExportSubject",
    "Finding",
    "FindingKind",
    "FoundAgain",
    "FoundAgainKind",
    "Ground",
    "IdentityLevel",
    "InventoryCheck",
    "Kind",
    "Level",
    "Line",
    "LocationAnswer",
    "Manifest",
    "ManifestItem",
    "NoteKind",
    "NoticeState",
    "Origin",
    "Outcome",
    "PlaceOutcome",
    "Profile",
    "Recheck",
    "RecheckKind",
    "Recipient",
    "RecipientKind",
    "RecipientNotice",
    "RequestItem",
    "RequestNote",
    "RequestSubject",
    "ScopeItem",
    "Status",
    "Verification",
    "WrongLeft",
]
