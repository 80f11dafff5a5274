"""Admin lists of tables that grow without end: pages by key, newest first, without counts. Knows no model."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest, HttpResponse

from server.paging import PARAMETERS, Cursor, KeyPage, key_page

_CURSOR = "key_cursor"
"""Attribute of a request, from whose parameters the list's own code would take the page for a filter."""


class KeyChangeList(ChangeList):
    """A list whose page is found by key."""

    key_page: KeyPage

    def get_results(self, request: HttpRequest) -> None:
        """Read the page; what Django would count is told as if the page were all there is."""
        self.key_page = key_page([self.queryset], getattr(request, _CURSOR), self.list_per_page)
        self.result_list = self.key_page.object_list
        self.result_count = self.full_result_count = len(self.result_list)
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = self.multi_page = False

    @property
    def links(self) -> list[tuple[str, str]]:
        """Names and addresses of the other pages that there are."""
        here, page = self.get_query_string(), self.key_page
        join = "&" if here != "?" else ""
        found = []
        if page.newer is not None:
            found += [("newest", here), ("← newer", f"{here}{join}{page.newer}")]
        if page.older is not None:
            found += [("older →", f"{here}{join}{page.older}"), ("oldest", f"{here}{join}oldest=1")]
        return found


class KeyPagedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """An admin page whose list is a `KeyChangeList`. Its filters must be such as an index by key can follow."""

    list_per_page = 30
    change_list_template = "admin/key_change_list.html"
    ordering = ("-pk",)
    sortable_by = ()
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The kind of list."""
        return KeyChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Take what the address says of the page out of it: Django takes every parameter for a filter."""
        setattr(request, _CURSOR, Cursor.of(request.GET))
        others = request.GET.copy()
        for name in PARAMETERS:
            others.pop(name, None)
        request.GET = others  # type: ignore[assignment]  # a copy of the same class, which Django does not write to
        return super().changelist_view(request, extra_context)
