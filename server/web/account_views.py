"""Pages of one's own account: over Django's views for logins and passwords, and ours for the rest."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from server.accounts import forms
from server.accounts.counting import hold_rate
from server.accounts.registration import (
    account_delete,
    email_ask,
    email_proved,
    email_verify,
    hold_letters,
    hold_sign_up,
    sign_up,
    site_of,
)
from server.accounts.roles import role_of
from server.accounts.selectors import contributor_of
from server.accounts.tokens import token_create, token_revoke, tokens_of
from server.errors import InvalidSettings
from server.games.personal_data import exported


def _sent(request: HttpRequest, title: str, text: str) -> HttpResponse:
    """A page that says one thing."""
    return render(request, "web/account/said.html", {"title": title, "text": text})


def _home(request: HttpRequest, token_form: forms.TokenForm | None = None, token: str = "") -> HttpResponse:
    contributor = contributor_of(request.user)
    context = {
        "contributor": contributor,
        "role": role_of(request.user),
        "tokens": tokens_of(cast(Any, request.user)),
        "token": token,
        "form": token_form or forms.TokenForm(),
        "unverified": bool(settings.VERIFY_EMAIL and contributor and not contributor.email_verified),
        "has_email": settings.HAS_EMAIL,
    }
    return render(request, "web/account/home.html", context)


@never_cache
@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """One's account: what it counts, its tokens, and where to change it."""
    return _home(request)


class Login(auth.LoginView):
    """Name and password."""

    template_name = "web/account/login.html"
    redirect_authenticated_user = True
    extra_context = {"sign_up": settings.SIGN_UP, "has_email": settings.HAS_EMAIL}  # noqa: RUF012


class Logout(auth.LogoutView):
    """The end of a session."""

    next_page = cast(Any, reverse_lazy("account:login"))


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up_page(request: HttpRequest) -> HttpResponse:
    """A new account, where the settings allow it."""
    if not settings.SIGN_UP:
        raise Http404("accounts are made by the maintainers")
    if request.user.is_authenticated:
        return redirect("account:home")
    form = forms.SignUpForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return render(request, "web/account/sign_up.html", {"form": form})
    hold_sign_up(request)
    told = {name: form.cleaned_data[name] for name in ("username", "email")}
    try:
        user = sign_up(**told, password=form.cleaned_data["password1"], site=site_of(request))
    except InvalidSettings as error:
        form.add_error(None, str(error))
        return render(request, "web/account/sign_up.html", {"form": form})
    if settings.VERIFY_EMAIL:
        return _sent(request, _("Look into your mailbox"), _("A letter is on its way; its link opens the account."))
    if user is None:
        form.add_error("email", _("An account has this e-mail address already."))
        return render(request, "web/account/sign_up.html", {"form": form})
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return redirect("account:home")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def verify(request: HttpRequest, text: str) -> HttpResponse:
    """Where the letter's link leads. A button says yes, since programs that look through mails open links, too."""
    if request.method != "POST":
        return render(request, "web/account/verify.html")
    if email_verify(text) is None:
        return _sent(request, _("This link is void"), _("It is too old, or the address is another account's by now."))
    return _sent(request, _("Thank you"), _("Your e-mail address is confirmed. You can contribute now."))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def email(request: HttpRequest) -> HttpResponse:
    """Another e-mail address, or the same letter again."""
    form = forms.EmailForm(request, request.POST or None, initial={"email": cast(Any, request.user).email})
    if request.method != "POST" or not form.is_valid():
        return render(request, "web/account/email.html", {"form": form})
    hold_letters(form.cleaned_data["email"], request)
    email_ask(request.user, form.cleaned_data["email"], site_of(request))
    if not settings.VERIFY_EMAIL:
        return redirect("account:home")
    return _sent(request, _("Look into your mailbox"), _("A letter is on its way; the address counts once you say so."))


class Password(auth.PasswordChangeView):
    """Another password, by the old one."""

    template_name = "web/account/password.html"
    form_class = forms.PasswordForm
    success_url = reverse_lazy("account:home")


class Reset(auth.PasswordResetView):
    """A letter for who has forgotten the password."""

    template_name = "web/account/reset.html"
    form_class = forms.ResetForm
    success_url = reverse_lazy("account:reset-sent")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Only where letters can be sent."""
        if not settings.HAS_EMAIL:
            raise Http404("this server sends no e-mail")
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Count, then note the letter."""
        hold_letters(form.cleaned_data["email"], self.request)
        return super().form_valid(form)


@require_safe
def reset_sent(request: HttpRequest) -> HttpResponse:
    """What is said whether an account has that address or not."""
    text = _("If an account has this e-mail address, a letter is on its way to it.")
    return _sent(request, _("Look into your mailbox"), text)


class ResetConfirm(auth.PasswordResetConfirmView):
    """Where that letter leads. It proves the address, too."""

    template_name = "web/account/reset_confirm.html"
    success_url = reverse_lazy("account:login")

    def form_valid(self, form: Any) -> HttpResponse:
        """Take the password."""
        email_proved(self.user)
        return super().form_valid(form)


@sensitive_post_parameters()
@never_cache
@login_required
@require_POST
def token_make(request: HttpRequest) -> HttpResponse:
    """Make a token and show it, this once."""
    form = forms.TokenForm(request.POST)
    if not form.is_valid():
        return _home(request, form)
    try:
        token = token_create(cast(Any, request.user), form.cleaned_data["name"])
    except InvalidSettings as error:
        form.add_error(None, str(error))
        return _home(request, form)
    return _home(request, token=token)


@login_required
@require_POST
def token_end(request: HttpRequest, key: int) -> HttpResponse:
    """Revoke one of one's tokens."""
    if not token_revoke(cast(Any, request.user), key):
        raise Http404("you have no such token")
    return redirect(reverse("account:home"))


@never_cache
@login_required
@require_safe
def export(request: HttpRequest) -> StreamingHttpResponse:
    """All that the server keeps of somebody, as a file of JSON lines."""
    hold_rate("export", f"user {request.user.pk}", _("Your data was fetched often enough for now."))
    answer = StreamingHttpResponse(exported(request.user), content_type="application/x-ndjson")
    answer.headers["Content-Disposition"] = 'attachment; filename="tengen-account.jsonl"'
    return answer


@sensitive_post_parameters()
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest) -> HttpResponse:
    """The end of an account; its games stay without a name."""
    form = forms.ConfirmedForm(request, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            account_delete(request.user)
        except InvalidSettings as error:
            form.add_error(None, str(error))
        else:
            logout(request)
            return _sent(request, _("Your account is gone"), _("Thank you. The games stay without your name."))
    return render(request, "web/account/delete.html", {"form": form})
