"""The OpenAPI description of our own API, made from the views."""

from drf_spectacular.views import SpectacularAPIView

from memadmin.access.scopes import Scope
from memadmin.api.v1.base import ApiView


class Schema(ApiView, SpectacularAPIView):
    """The OpenAPI description of this API."""

    scopes = {"GET": Scope.CONTAINER_READ}
    renderer_classes = SpectacularAPIView.renderer_classes
    serve_public = True
    urlconf = "memadmin.api.v1.urls"
