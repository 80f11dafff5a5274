"""The tree of addresses. Every path ends with a slash, and nothing redirects."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path, re_path
from drf_spectacular.views import SpectacularJSONAPIView

from server.api import not_found

urlpatterns = [
    path("api/schema/", SpectacularJSONAPIView.as_view(), name="schema"),
    re_path(r"^api/", not_found),
    path("admin/", admin.site.urls),
]
