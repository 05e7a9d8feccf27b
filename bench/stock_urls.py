"""The product's pages, and Django's admin with LongTermMemory registered as its tutorial does it: all defaults."""

from typing import TYPE_CHECKING

from django.contrib import admin
from django.http import HttpRequest
from django.urls import path

from memadmin.store.models import LongTermMemory
from memadmin.urls import urlpatterns as product

if TYPE_CHECKING:
    Memories = admin.ModelAdmin[LongTermMemory]
else:
    Memories = admin.ModelAdmin  # takes no type outside of a check


class OpenSite(admin.AdminSite):
    """Lets everybody in: our people have no `is_staff`, and what a superuser may costs nothing to find out either."""

    def has_permission(self, request: HttpRequest) -> bool:
        return True


class MemoryAdmin(Memories):
    list_per_page = 50  # as ours

    def has_module_permission(self, request: HttpRequest) -> bool:
        return True

    has_view_permission = has_add_permission = has_change_permission = has_delete_permission = lambda self, request, obj=None: True


site = OpenSite(name="admin")
site.register(LongTermMemory, MemoryAdmin)
urlpatterns = [*product, path("stock/", site.urls)]
