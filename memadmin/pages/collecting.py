"""Where a person takes their export. Nobody signs in: the code is what counts.

Opening the address changes nothing, so that programs which look at links in mails do not use it up. The code stands behind `#` in the
link, which no browser sends, or is typed; so it is in no log of ours or of a proxy, and in no referrer.
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.throttling import actor_at
from memadmin.erasure.access_exports import collecting
from memadmin.erasure.access_exports.collecting import NotYet, TooLate, WrongCode
from memadmin.pages.decorators import keep_private, open_to_all

LONGEST_CODE = 200
HEADERS = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}
WRONG = "This is not the code of this export. Look at the letter or message that it came with."
WAIT = "Too many wrong codes were tried from here. Wait a quarter of an hour and try again."


@require_safe
@open_to_all
def access_export(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Ask for the code, or say that there is nothing here any more."""
    if collecting.is_open(uid, now=timezone.now()):
        return _page(request, uid)
    return _page(request, uid, gone=True, status=410)


@csrf_exempt  # no cookie opens anything here: whoever sends the code has the code
@sensitive_post_parameters("code")
@require_POST
@open_to_all
def access_export_collect(request: HttpRequest, uid: UUID) -> HttpResponseBase:
    """Send the export, once."""
    now, code = timezone.now(), request.POST.get("code", "")[:LONGEST_CODE]
    try:
        taken = collecting.collect(uid, code, actor=actor_at(request, now=now), now=now)
    except WrongCode:
        return _page(request, uid, problem=WRONG, status=422)
    except TooLate:
        return _page(request, uid, gone=True, status=410)
    except NotYet:
        answer = _page(request, uid, problem=WAIT, status=429)
        answer["Retry-After"] = str(int(collecting.WINDOW.total_seconds()))
        return answer
    name = f'attachment; filename="{taken.file_name}"'
    headers = {**HEADERS, "Content-Disposition": name}
    return keep_private(StreamingHttpResponse(taken.stream(), content_type="application/zip", headers=headers))


def _page(request: HttpRequest, uid: UUID, *, status: int = 200, problem: str = "", gone: bool = False) -> HttpResponse:
    context = {"uid": uid, "problem": problem, "gone": gone}
    answer = render(request, "access_exports/collect.html", context, status=status)
    for header, value in HEADERS.items():
        answer[header] = value
    keep_private(answer)
    return answer
