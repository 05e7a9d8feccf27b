from django.urls import include, path

urlpatterns = [path("", include("memadmin.pages.urls"))]

handler403 = "memadmin.pages.errors.forbidden"
handler404 = "memadmin.pages.errors.not_found"
handler500 = "memadmin.pages.errors.broken"
