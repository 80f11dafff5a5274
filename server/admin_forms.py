"""Admin pages that write only what their user changed, and notice when somebody else changed it meanwhile.

A page may stand open for hours while the server promotes networks and other maintainers work. Django's form would write
every field as it was shown. Here each form carries what it showed; a field counts as changed if what comes back differs
from that, only changed fields are saved, and a field that was changed here *and* in the database is an error that shows
the other value. Knows no model.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property


class ShownForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable without stubs
    """A form that knows what it showed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.show_hidden_initial = not field.disabled

    @cached_property
    def changed_data(self) -> list[str]:
        """Names of the fields that the user changed on the page."""
        return [
            name
            for name, field in self.fields.items()
            if not field.disabled and _differ(field, self._shown(name), self[name].data)
        ]

    def clean(self) -> dict[str, Any] | None:
        """Leave what the user did not change as it is in the database by now, and refuse what others changed too."""
        cleaned = super().clean()
        for name in list(self.cleaned_data):
            field = self.fields[name]
            if name not in self.changed_data:
                self.cleaned_data[name] = self._stored(name)
                continue
            self.cleaned_data[name] = _unix(self.cleaned_data[name])
            now = self.get_initial_for_field(field, name)
            elsewhere = not self._omitted(name) and _differ(field, now, self._sent(name))
            if self.instance.pk is not None and elsewhere and _differ(field, now, self[name].data):
                text = f"was changed meanwhile, to: {self._stored(name)}. Open the page again to see it, then decide."
                self.add_error(name, text)
        return cleaned

    def _shown(self, name: str) -> Any:
        """What the page showed of a field; what a program did not send along is taken as the database has it."""
        field = self.fields[name]
        if self._omitted(name):
            return self.get_initial_for_field(field, name)
        sent = self._sent(name)
        if isinstance(field, forms.ModelChoiceField):
            return sent
        try:
            return field.to_python(sent)
        except ValidationError:
            return sent

    def _omitted(self, name: str) -> bool:
        """Whether what was shown did not come back."""
        hidden = self.fields[name].hidden_widget()
        return hidden.value_omitted_from_data(self.data, self.files, self[name].html_initial_name)

    def _sent(self, name: str) -> Any:
        """What was shown, as it came back."""
        return (
            self.fields[name].hidden_widget().value_from_datadict(self.data, self.files, self[name].html_initial_name)
        )

    def _stored(self, name: str) -> Any:
        value: Any = getattr(self.instance, name, None)
        return value.all() if isinstance(self.fields[name], forms.ModelMultipleChoiceField) else value


def _differ(field: forms.Field, one: Any, other: Any) -> bool:
    """Whether two values of a field are different, apart from line ends and the blanks that the field strips."""
    return field.has_changed(_plain(field, one), _plain(field, other))


def _plain(field: forms.Field, value: Any) -> Any:
    text = _unix(value)
    return text.strip() if isinstance(text, str) and isinstance(field, forms.CharField) and field.strip else text


def _unix(value: Any) -> Any:
    """Text with the line ends of the database, whatever a browser sends."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


class ChangedFieldsAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """An admin page over a `ShownForm`."""

    form = ShownForm

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows; the one that is about to be saved is locked, so that nothing comes between look and write."""
        found: QuerySet[Any] = super().get_queryset(request)
        match = request.resolver_match
        if request.method == "POST" and match is not None and str(match.url_name).endswith("_change"):
            found = found.select_for_update(no_key=True, of=("self",))
        return found

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Write the changed fields of a row that exists, all of a new one."""
        obj.save(update_fields=changed_fields(obj, form) if change else None)


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Rows that the system alone writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False


def changed_fields(obj: Model, form: ShownForm) -> list[str]:
    """The columns that a form changes."""
    columns = {field.name for field in obj._meta.concrete_fields}
    return [name for name in form.changed_data if name in columns]
