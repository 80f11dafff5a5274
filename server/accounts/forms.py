"""Forms of the account's pages, over Django's own.

Whatever asks for the password of who is logged in goes through `ConfirmedForm`, where a try counts as one of a login:
else a forgotten open browser would be a place to guess at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth import forms as auth_forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from server.accounts.letters import letter_write
from server.accounts.models import USERNAME_PATTERN, ClientToken, LetterKind
from server.accounts.registration import site_of, users_with


class SignUpForm(auth_forms.UserCreationForm):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Name, e-mail address and password of a new account."""

    email = forms.EmailField(label=_("E-mail address"), help_text=_("Shown to nobody."))

    class Meta(auth_forms.UserCreationForm.Meta):
        fields = ("username", "email")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rule = _("3 to 60 letters, digits and '.', '+', '-', '_'. Everybody sees it.")
        self.fields["username"].help_text = rule

    def clean_username(self) -> str:
        """A name as the protocol allows it, which no other differs from by capitals alone."""
        username = super().clean_username() or ""  # nothing, where it is taken
        if username and not re.fullmatch(USERNAME_PATTERN, username):
            raise ValidationError(_("3 to 60 letters, digits and '.', '+', '-', '_' are allowed."))
        return str(username)

    def validate_unique(self) -> None:
        """The name was looked up, and the address is not told of: its holder gets a letter."""


class ConfirmedForm(forms.Form):
    """What wants the password once more."""

    password = forms.CharField(
        label=_("Your password"), strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self._request = request
        super().__init__(*args, **kwargs)

    def clean_password(self) -> str:
        """Refuse a wrong one, counted as a login's."""
        password = str(self.cleaned_data["password"])
        if authenticate(self._request, username=self._request.user.get_username(), password=password) is None:
            raise ValidationError(_("That is not your password."))
        return password


class EmailForm(ConfirmedForm):
    """Another e-mail address."""

    email = forms.EmailField(label=_("New e-mail address"))
    field_order = ("email", "password")


class PasswordForm(auth_forms.PasswordChangeForm):
    """Django's change of the password, where the old one cannot be guessed at."""

    def clean_old_password(self) -> str:
        """Refuse a wrong one, counted as a login's."""
        old = str(self.cleaned_data["old_password"])
        if authenticate(None, username=self.user.get_username(), password=old) is None:
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return old


class ResetForm(auth_forms.PasswordResetForm):
    """Django's form for a forgotten password; the letter goes by `server.accounts.letters`."""

    def get_users(self, email: str) -> Iterator[Any]:
        """The active user with that address, by its index."""
        return (user for user in users_with(email).filter(is_active=True) if user.has_usable_password())

    def save(self, **options: Any) -> None:  # type: ignore[override]  # of its options, the request is all we need
        """Note a letter for who has the address; whether somebody has, the page does not say."""
        site = site_of(options["request"])
        for user in self.get_users(self.cleaned_data["email"]):
            letter_write(user, LetterKind.RESET, user.email, site)


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable without stubs
    """The name of a new token."""

    class Meta:
        model = ClientToken
        fields = ("name",)


class UserEmailMixin:
    """For the admin's forms: the database takes an address once."""

    instance: Any
    cleaned_data: dict[str, Any]

    def clean_email(self) -> str:
        """Refuse another account's."""
        email = str(self.cleaned_data["email"])
        if email and users_with(email).exclude(pk=self.instance.pk).exists():
            raise ValidationError(_("Another account has this e-mail address."))
        return email
