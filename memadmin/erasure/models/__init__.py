"""The tables of the compliance workflow: requests, what they are about, manifests of what was found, and approvals."""

from memadmin.erasure.models.approvals import Approval
from memadmin.erasure.models.manifests import Decision, Line, LocationAnswer, Manifest, ManifestItem, ScopeItem
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

__all__ = [
    "Approval",
    "Channel",
    "Decision",
    "ErasureRequest",
    "Ground",
    "IdentityLevel",
    "Kind",
    "Line",
    "LocationAnswer",
    "Manifest",
    "ManifestItem",
    "NoteKind",
    "Origin",
    "Profile",
    "RequestItem",
    "RequestNote",
    "RequestSubject",
    "ScopeItem",
    "Status",
]
