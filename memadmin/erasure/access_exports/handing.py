"""Handing an export out: the code that opens it is made, given to the caller once, and not kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from memadmin.audit import log
from memadmin.audit.actions import Action
from memadmin.erasure.access_exports import sealing
from memadmin.erasure.access_exports.starting import NoExport
from memadmin.erasure.intake import target_of
from memadmin.erasure.models import AccessExport, ErasureRequest, ExportState
from memadmin.erasure.models.access_exports import LIVE
from memadmin.erasure.moves import WrongState
from memadmin.erasure.refusals import audited
from memadmin.store import configuration


@audited(Action.ACCESS_EXPORT_HANDED_OUT)
def hand_out(request: ErasureRequest, *, actor: str, now: datetime) -> tuple[AccessExport, str]:
    """Return the request's export and the code for its link. From here on only the code opens it. Raises NoExport, WrongState."""
    export = request.access_exports.select_for_update().filter(state__in=LIVE).first()
    if export is None or export.state == ExportState.BUILDING:
        raise NoExport("The export has not been made yet.")
    if export.state == ExportState.HANDED_OUT:
        raise WrongState(
            "The link was made already, and is not kept. If it is lost, make the export again: the old link then opens nothing."
        )
    if export.expires_at is not None and export.expires_at <= now:
        raise WrongState("The export has expired. Make it again.")
    code = sealing.new_code()
    try:
        key = sealing.unwrap_by_server(bytes(export.wrapped_key or b""), export.uid)
    except sealing.Unopened:
        raise WrongState("The secret key of this installation has changed since the export was made. Make it again.") from None
    export.wrapped_key = sealing.wrap_for_code(key, code, export.uid)
    export.code_digest = sealing.digest_of(code, export.uid)
    export.state, export.handed_by, export.handed_at = ExportState.HANDED_OUT, actor, now
    export.expires_at = now + timedelta(days=configuration.value("access_export_days"))
    export.save(update_fields=["wrapped_key", "code_digest", "state", "handed_by", "handed_at", "expires_at"])
    log.append(Action.ACCESS_EXPORT_HANDED_OUT, actor=actor, target=target_of(request), at=now)
    return export, code
