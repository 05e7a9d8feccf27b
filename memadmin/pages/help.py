"""The help page. Pages link to one of its entries with `{% word "half-life" %}`."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from memadmin.pages.decorators import signed_in
from memadmin.pages.words import WORDS


@require_safe
@signed_in
def help(request: HttpRequest) -> HttpResponse:
    sections = [(title, slugify(title), words) for title, words in WORDS.items()]
    return render(request, "help/help.html", {"sections": sections})
