"""What becomes of what arrives about somebody after their erasure: refused, or set aside for a person, for a time."""

from __future__ import annotations

from datetime import datetime, timedelta

from memadmin.store import configuration
from memadmin.store.models import Mode
from memadmin.store.suppression import Terms


def terms(ended_at: datetime) -> Terms:
    """Return the terms of an erasure that ended at this time, as the settings say now. The digest is kept until the request is closed."""
    mode = Mode.QUARANTINE if configuration.value("erasure_set_aside") else Mode.BLOCK
    return Terms(mode=mode, block_until=ended_at + timedelta(days=configuration.value("erasure_block_days")))
