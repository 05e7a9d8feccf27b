"""A certificate of an erasure: to read and print, as the file that verifies, and as a PDF of the same digest."""

from __future__ import annotations

import json
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from memadmin.access.models import Person
from memadmin.erasure.certificates.issuing import file_of
from memadmin.erasure.certificates.pdf import pdf_of
from memadmin.erasure.certificates.reading import parts_of
from memadmin.erasure.models import Certificate
from memadmin.erasure.visibility import visible_requests
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest


@require_safe
@may("erasure.view")
def certificate_detail(request: PersonRequest, serial: UUID) -> HttpResponse:
    certificate = _certificate(request.user, serial)
    document = json.loads(certificate.document)
    return render(request, "certificates/detail.html", {"certificate": certificate, "document": document, "parts": parts_of(document)})


@require_safe
@may("erasure.view")
def certificate_file(request: PersonRequest, serial: UUID) -> HttpResponse:
    certificate = _certificate(request.user, serial)
    return _attached(file_of(certificate), "application/json", f"certificate-{certificate.serial}.json")


@require_safe
@may("erasure.view")
def certificate_pdf(request: PersonRequest, serial: UUID) -> HttpResponse:
    certificate = _certificate(request.user, serial)
    content = pdf_of(json.loads(certificate.document), digest=certificate.digest, key_id=certificate.key_id)
    return _attached(content, "application/pdf", f"certificate-{certificate.serial}.pdf")


def _certificate(person: Person, serial: UUID) -> Certificate:
    """Return the certificate, or 404: one of a request that the person may not see does not exist for them."""
    seen = Certificate.objects.filter(request__in=visible_requests(person)).select_related("request")
    return get_object_or_404(seen, serial=serial)


def _attached(content: bytes, content_type: str, name: str) -> HttpResponse:
    return HttpResponse(content, content_type=content_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})
