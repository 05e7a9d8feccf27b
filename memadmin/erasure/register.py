"""The register of what is processed where (GDPR article 30): stores, who gets data, time limits, and what keeps the erased erased."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Count, Max

from memadmin.erasure import disclosures, recipients
from memadmin.erasure.models import BackupRecord, InventoryCheck, Recipient
from memadmin.store import configuration, coverage, locations
from memadmin.store.models import Container, Mode, Suppression
from memadmin.version import VERSION

KEEP_ERASED = (
    "Keyed digests of erased ids and texts, kept so that what is erased stays erased: nothing can be read from them. "
    "They go when the backups from before have ended and the block is over."
)


def register(containers: Iterable[Container], *, now: datetime) -> dict[str, Any]:
    """Return the register as plain values: of recipients those of these containers."""
    seen = list(containers)
    return {
        "made_at": now.isoformat(),
        "software": f"memadmin {VERSION}",
        "uncovered": coverage.gaps(),
        "stores": [_store(place) for place in locations.in_order()],
        "without_personal_data": [
            {"table": table, "columns": sorted(columns), "why": sorted(set(columns.values()))}
            for table, columns in sorted(locations.WAIVED_TABLES.items())
        ],
        "recipients": [_recipient(row, seen) for row in recipients.of_containers(each.pk for each in seen).prefetch_related("containers")],
        "time_limits": _limits(seen),
        "backups": _backups(),
        "kept_so_that_it_stays_erased": _suppressed(),
    }


def _store(place: locations.Location) -> dict[str, Any]:
    return {
        "name": place.name,
        "title": place.title,
        "described_by": place.app,
        "table": place.table,
        "class": place.item_class.value,
        "class_title": place.item_class.label,
        "erased_by": place.act.label,
        "goes": place.goes,
        "columns": sorted(place.columns),
        "other_columns": dict(sorted(place.waived.items())),
    }


def _recipient(row: Recipient, seen: list[Container]) -> dict[str, Any]:
    shown = {each.pk for each in seen}
    return {
        "name": row.name,
        "told": row.get_kind_display(),
        "gets": row.given,
        "containers": "all" if row.all_containers else sorted(each.name for each in row.containers.all() if each.pk in shown),
        "people_recorded": disclosures.counts_of(row, shown).people,
        "since": row.created_at.date().isoformat(),
        "until": row.ended_at.date().isoformat() if row.ended_at else "",
    }


def _limits(seen: list[Container]) -> dict[str, Any]:
    """Which containers have a policy that evicts, and the settings that end other things."""
    names = ("erasure_block_days", "erasure_backup_days", "quarantine_days", "recall_keep_days", "victims_keep_days", "preview_keep_days")
    return {
        "containers": [{"name": each.name, "policy": each.get_policy_state_display()} for each in seen],
        "days": {name: configuration.value(name) for name in names},
    }


def _backups() -> dict[str, Any]:
    standing = BackupRecord.objects.filter(destroyed_at=None)
    kinds = standing.order_by().values("kind").annotate(number=Count("pk"), last=Max("expires_at")).order_by("kind")
    checked = InventoryCheck.objects.order_by("-checked_at", "-pk").first()
    return {
        "inventory_checked_at": checked.checked_at.isoformat() if checked else "",
        "standing": [{"kind": row["kind"], "number": row["number"], "last_ends_at": row["last"].isoformat()} for row in kinds],
    }


def _suppressed() -> dict[str, Any]:
    standing = Suppression.objects.exclude(mode=Mode.LIFTED)
    return {"purpose": KEEP_ERASED, "digests": dict(standing.order_by("kind").values_list("kind").annotate(number=Count("pk")))}


def lines_of(found: dict[str, Any]) -> list[list[Any]]:
    """Return the register as lines of a table: part, what, details."""
    lines: list[list[Any]] = [["part", "what", "class", "details", "ends"]]
    lines += [["uncovered", name, "", "holds what no erasure reaches", ""] for name in found["uncovered"]]
    for place in found["stores"]:
        details = place["goes"] or ", ".join(place["columns"])
        lines.append(["store", place["title"], f"{place['class']}: {place['class_title']}", details, place["erased_by"]])
    lines += [["no personal data", row["table"], "", row["why"], ""] for row in found["without_personal_data"]]
    for row in found["recipients"]:
        lines.append(
            [
                "recipient",
                row["name"],
                "G",
                f"{row['gets']}; {row['told']}; {_listed(row['containers'])}; {row['people_recorded']} people noted",
                row["until"],
            ]
        )
    lines += [["container", row["name"], "", row["policy"], ""] for row in found["time_limits"]["containers"]]
    lines += [["time limit", name, "", "", f"{days} days"] for name, days in found["time_limits"]["days"].items()]
    lines += [["backup", row["kind"], "F", f"{row['number']} standing", row["last_ends_at"]] for row in found["backups"]["standing"]]
    kept = found["kept_so_that_it_stays_erased"]
    lines += [["kept erased", kind, "", kept["purpose"], str(number)] for kind, number in kept["digests"].items()]
    return lines


def _listed(containers: Any) -> str:
    return containers if isinstance(containers, str) else ", ".join(containers)
