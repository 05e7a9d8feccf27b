from django.urls import include, path

from memadmin import health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("", include("memadmin.api.urls")),
    path("", include("memadmin.pages.urls")),
]

handler400 = "memadmin.pages.errors.bad_request"
handler403 = "memadmin.pages.errors.forbidden"
handler404 = "memadmin.pages.errors.not_found"
handler500 = "memadmin.pages.errors.broken"
