"""Addresses of one's own account's pages (contribute-protocol.md 16)."""

from __future__ import annotations

from django.urls import path

from server.web import account_views as views

app_name = "account"
urlpatterns = [
    path("", views.home, name="home"),
    path("login/", views.Login.as_view(), name="login"),
    path("logout/", views.Logout.as_view(), name="logout"),
    path("sign-up/", views.sign_up_page, name="sign-up"),
    path("verify/<str:text>/", views.verify, name="verify"),
    path("email/", views.email, name="email"),
    path("password/", views.Password.as_view(), name="password"),
    path("reset/", views.Reset.as_view(), name="reset"),
    path("reset/sent/", views.reset_sent, name="reset-sent"),
    path("reset/<str:uidb64>/<str:token>/", views.ResetConfirm.as_view(), name="reset-confirm"),
    path("tokens/", views.token_make, name="token-make"),
    path("tokens/<int:key>/revoke/", views.token_end, name="token-revoke"),
    path("export/", views.export, name="export"),
    path("delete/", views.delete, name="delete"),
]
