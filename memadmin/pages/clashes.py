"""Two editors at once: what the second one is shown. Nothing typed is lost, and there are three ways to go on."""

from __future__ import annotations

import json

from django.urls import reverse

from memadmin.access.actors import names_of
from memadmin.lifecycle.differences import label_of
from memadmin.pages.comparing import Clash, rows_of, version_of
from memadmin.pages.policy_form import PolicyForm, query_of
from memadmin.store import policies
from memadmin.store.models import Container, PolicyVersion
from retention.differing import merge_changes
from retention.policy import InvalidPolicy, parse_policy
from retention.rules import RetentionPolicy


def with_published(container: Container, form: PolicyForm, published: PolicyVersion | None) -> Clash:
    """Return the clash of the form with what was published, or opted out of, since the form was opened."""
    base = version_of(container, form.cleaned_data.get("base"))
    if published:
        who = names_of([published.published_by])[published.published_by]
        said = f"Somebody else published version {published.number} while you were editing: {who}."
    else:
        said = "Somebody else took this container out of retention while you were editing."
    number = published.number if published else None
    return _clash(
        form,
        said,
        base=policies.readable(base),
        theirs=policies.readable(published),
        names=(f"version {base.number}" if base else "no policy", f"version {number}" if number else "opted out"),
        over=f"version {number}" if number else "the opting out",
        page=reverse("pages:policy-detail", args=[container.uid]),
        more={"base": "" if number is None else str(number)},
        theirs_query="",
    )


def with_draft(container: Container, form: PolicyForm, draft: PolicyVersion) -> Clash:
    """Return the clash of the form with what somebody else has kept in the same draft since."""
    who = names_of([draft.changed_by])[draft.changed_by]
    base = form.cleaned_data.get("base")
    more = {"draft": str(draft.number), "revision": str(draft.revision), "seen": draft.document, "base": "" if base is None else str(base)}
    return _clash(
        form,
        f"Somebody else has kept other values in draft {draft.number} while you were editing: {who}.",
        base=_seen(form),
        theirs=policies.readable(draft),
        names=("as you opened it", f"draft {draft.number} now"),
        over=f"draft {draft.number}",
        page=reverse("pages:policy-detail", args=[container.uid]),
        more=more,
        theirs_query=f"?draft={draft.number}",
    )


def _clash(
    form: PolicyForm,
    said: str,
    *,
    base: RetentionPolicy | None,
    theirs: RetentionPolicy | None,
    names: tuple[str, str],
    over: str,
    page: str,
    more: dict[str, str],
    theirs_query: str,
) -> Clash:
    mine = form.policy or RetentionPolicy()
    merged = merge_changes(base, mine, theirs)
    query = query_of(merged.policy, more={**more, "note": form.cleaned_data.get("note", "")})
    return Clash(
        said=said,
        rows=rows_of(base, theirs, mine, contested=merged.contested),
        base_name=names[0],
        theirs_name=names[1],
        theirs_url=f"{page}{theirs_query}",
        merged_url=f"{page}?{query}",
        again=more,
        over=over,
        contested=[label_of(field) if field != "relevance.weights" else "Score: weights" for field in merged.contested],
    )


def _seen(form: PolicyForm) -> RetentionPolicy | None:
    """Return the policy that the form was opened with, as the browser sent it back; None where it is none."""
    try:
        return parse_policy(json.loads(form.cleaned_data.get("seen") or "{}"))
    except (InvalidPolicy, ValueError):
        return None
