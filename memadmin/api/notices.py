"""Where recipients answer that they have got a notice. The notice's own token opens it, and nothing else."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from memadmin.erasure import notices
from memadmin.erasure.models import RecipientNotice
from memadmin.erasure.notices import NoticeEnded


@csrf_exempt  # no cookie opens it
@require_POST
def notice_acknowledge(request: HttpRequest, uid: UUID) -> JsonResponse:
    """200 when it is noted, also again; 401 for a wrong token as for a notice that is not there; 410 when people have ended it."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    notice = RecipientNotice.objects.filter(uid=uid).first()
    if notice is None or scheme.lower() != "bearer" or not notices.is_token_of(notice, token.strip()):
        return _answer({"error": "Send the token of the notice: Authorization: Bearer TOKEN."}, 401)
    try:
        notices.acknowledge(notice, actor=notices.RECEIVER, now=timezone.now())
    except NoticeEnded:
        return _answer({"error": "This notice has ended without an answer."}, 410)
    return _answer({"id": str(uid), "state": "acked"}, 200)


def _answer(body: dict[str, str], status: int) -> JsonResponse:
    answer = JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})
    if status == 401:
        answer["WWW-Authenticate"] = "Bearer"
    return answer
