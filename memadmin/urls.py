from django.urls import include, path

urlpatterns = [path("", include("memadmin.pages.urls"))]
