"""The admin's forms: they write what their user changed, and two people at once do not undo each other's work."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client

from server.accounts.models import Contributor
from server.admin_forms import ChangedFieldsAdmin, ReadOnlyAdmin
from server.gates.models import Gate
from server.gates.services import _promote
from server.networks.models import Network
from server.runs.models import Run
from server.training.checks import faults_here, training_faults
from server.training.models import TrainingState
from tests.server.factories import make_network

pytestmark = pytest.mark.django_db


class Fields(HTMLParser):
    """What a browser would send back of a page's form, hidden fields included."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._text: str | None = None
        self._select: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        name = given.get("name") or ""
        if tag == "input" and name and given.get("type") != "submit":
            if given.get("type") != "checkbox" or "checked" in given:
                self.values[name] = given.get("value") or ("on" if given.get("type") == "checkbox" else "")
        elif tag == "textarea":
            self._text, self.values[name] = name, ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and "selected" in given:
            self.values[self._select] = given.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._text:
            text = (
                self.values[self._text].removeprefix("\r\n").removeprefix("\n")
            )  # as browsers drop the first line end
            self.values[self._text], self._text = text.replace("\n", "\r\n"), None
        elif tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        if self._text:
            self.values[self._text] += data


def opened(client: Client, row: object) -> tuple[str, dict[str, str]]:
    """A row's page as somebody has it before them: its address, and what a browser will send."""
    meta = row._meta  # type: ignore[attr-defined]
    url = f"/admin/{meta.app_label}/{meta.model_name}/{row.pk}/change/"  # type: ignore[attr-defined]
    page = client.get(url)
    assert page.status_code == 200
    return url, Fields(page.content.decode()).values | {"_save": "Save"}


def test_a_promotion_survives_a_page_that_was_open(admin_client: Client, run: Run, tmp_path: Path) -> None:
    run.next_architecture, run.promotion_rule = "b6c96", "always"
    run.save()
    url, form = opened(admin_client, run)
    make_network(run, tmp_path, architecture="b6c96")
    promoted = Run.objects.get()
    answer = admin_client.post(url, form | {"gate_games": "50"})
    assert answer.status_code == 302, answer.content
    kept = Run.objects.get()
    assert (kept.gate_games, kept.current_network, kept.architecture, kept.next_architecture) == (
        *(50, promoted.current_network),
        *("b6c96", ""),
    )
    assert kept.current_network != run.current_network
    assert kept.selfplay_config == run.selfplay_config, "a text that was not touched keeps every byte"


@pytest.mark.parametrize(
    ("mine", "theirs", "clash"),
    [
        ({"gate_games": "50"}, {"lease_seconds": "60"}, None),
        ({"gate_games": "50"}, {"gate_games": "60"}, "gate_games"),
        ({"gate_games": "50"}, {"gate_games": "50"}, None),
        ({"training_settings": '{"batch": 64}'}, {"training_settings": '{"batch": 32}'}, "training_settings"),
        ({"client_revisions": "a\r\nb"}, {"client_revisions": "c"}, "client_revisions"),
        ({"state": "paused"}, {"state": "closed"}, "state"),
        ({"client_revisions": "a\r\nb"}, {"state": "paused"}, None),
    ],
)
def test_two_maintainers_at_once(
    admin_client: Client, run: Run, mine: dict[str, str], theirs: dict[str, str], clash: str | None
) -> None:
    url, first = opened(admin_client, run)
    _, second = opened(admin_client, run)
    assert admin_client.post(url, second | theirs).status_code == 302
    answer = admin_client.post(url, first | mine)
    wanted = theirs | (mine if clash is None else {})
    assert answer.status_code == (302 if clash is None else 200), answer.context["adminform"].form.errors
    if clash is not None:
        assert list(answer.context["adminform"].form.errors) == [clash]
        assert "was changed meanwhile, to: " in answer.content.decode()
    kept = Run.objects.get()
    for name, value in wanted.items():
        stored = getattr(kept, name)
        assert (json.dumps(stored) if isinstance(stored, dict) else str(stored)) == value.replace("\r\n", "\n")


def test_every_editable_page_saves_unchanged_and_changes_nothing(
    admin_client: Client, run: Run, anna: Contributor, tmp_path: Path
) -> None:
    state = TrainingState.objects.create(run=run, architecture="b2c32", lease_owner="somebody")
    network = make_network(run, tmp_path)
    for row in (run, anna, network, state, anna.user):
        before = type(row).objects.filter(pk=row.pk).values().get()
        url, form = opened(admin_client, row)
        answer = admin_client.post(url, form)
        assert answer.status_code == 302, (url, answer.context and answer.context["adminform"].form.errors)
        assert type(row).objects.filter(pk=row.pk).values().get() == before


def test_a_contributor_is_counted_while_a_maintainer_stops_it(admin_client: Client, anna: Contributor) -> None:
    url, form = opened(admin_client, anna)
    Contributor.objects.update(training_games=7)
    del form["may_contribute"]
    assert admin_client.post(url, form).status_code == 302
    anna.refresh_from_db()
    assert (anna.may_contribute, anna.training_games) == (False, 7)


def test_a_users_new_password_survives_a_page_that_was_open(admin_client: Client, anna: Contributor) -> None:
    url, form = opened(admin_client, anna.user)
    anna.user.set_password("quite another password")
    anna.user.save()
    assert admin_client.post(url, form | {"first_name": "Anna"}).status_code == 302
    user = get_user_model().objects.get(pk=anna.user.pk)
    assert user.first_name == "Anna"
    assert user.check_password("quite another password")


def test_network_notes_and_a_gate_at_once(admin_client: Client, run: Run, tmp_path: Path) -> None:
    network = make_network(run, tmp_path)
    url, form = opened(admin_client, network)
    Gate.objects.all().delete()
    _promote(Run.objects.get(), Network.objects.get(pk=network.pk))
    assert admin_client.post(url, form | {"notes": "good"}).status_code == 302
    network.refresh_from_db()
    assert (network.notes, network.training_games_enabled, network.state) == ("good", True, "accepted")


def test_every_model_of_ours_has_such_a_page() -> None:
    """Or shows nothing that could be changed."""
    for model, page in admin.site._registry.items():
        if model.__module__.startswith("server."):
            editable = {field.name for field in model._meta.fields if field.editable} - set(page.readonly_fields)
            assert isinstance(page, ChangedFieldsAdmin | ReadOnlyAdmin) or editable <= {"id"}, model


# ------------------------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ({"bucket": {"samples_per_epochs": 1}}, ["bucket.samples_per_epochs", "bucket.samples_per_epoch"]),
        ({"samples_per_epoch": 1}, ["samples_per_epoch", "bucket.samples_per_epoch"]),
        ({"bach": 64}, ["'bach'", "'batch'"]),
        ({"batch": "64"}, ["'batch'", "'64'"]),
        ({"batch": True}, ["'batch'"]),
        ({"batch": 0}, ["batch"]),
        ({"bucket": 3}, ["'bucket' must be an object"]),
        ({"recipe": "papier"}, ["papier", "paper"]),
        ({"recipe": {"name": "paper", "scale": {}}}, ["recipe.scale", "recipe.scales"]),
        ({"slice_second": 5}, ["slice_second", "slice_seconds"]),
        ({"slice_seconds": "5"}, ["slice_seconds"]),
        ({"slice_seconds": 3600}, ["slice_seconds"]),
        ({"optimizer": {"kind": "adamm"}}, ["adamm"]),
        ({"net": {}}, ["'net' is a field of the run itself"]),
        ({"recipe": {"scales": {"lead": "0"}}}, ["'lead'", "'0'"]),
        ({"recipe": {"scales": {"lead": -1}}}, ["'lead'", "-1"]),
        ({"recipe": {"added": {"lead": None}}}, ["'lead'", "None"]),
        ([], ["must be an object"]),
        ("paper", ["must be an object"]),
    ],
)
def test_training_settings_are_checked_where_they_are_saved(
    admin_client: Client, run: Run, given: object, texts: list[str]
) -> None:
    url, form = opened(admin_client, run)
    answer = admin_client.post(url, form | {"training_settings": json.dumps(given)})
    assert answer.status_code == 200
    (told,) = answer.context["adminform"].form.errors["training_settings"]
    assert all(text in told for text in texts), told
    assert Run.objects.get().training_settings == {}


@pytest.mark.parametrize(
    "given",
    [
        {"batch": 64, "bucket": {"samples_per_epoch": 2000}, "slice_seconds": 5},
        {"recipe": {"name": "today", "scales": {"lead": 0}}, "optimizer": {"rate_scale": 2}},
        {"recipe": {"optimism": False}, "window": {"min_rows": 1000, "taper_window_scale": 50_000}},
    ],
)
def test_good_training_settings_are_saved(admin_client: Client, run: Run, given: dict[str, object]) -> None:
    url, form = opened(admin_client, run)
    assert admin_client.post(url, form | {"training_settings": json.dumps(given)}).status_code == 302
    assert Run.objects.get().training_settings == given


def test_a_web_process_asks_another_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no torch; what it is told is what the trainer would say."""
    run.training_settings = {"bach": 64}
    here = faults_here(run)
    monkeypatch.delitem(__import__("sys").modules, "torch")
    assert training_faults(run) == here != []


@pytest.mark.parametrize("field", ["selfplay_config", "gating_config"])
def test_misspelt_keys_of_texts_are_named(admin_client: Client, run: Run, field: str) -> None:
    url, form = opened(admin_client, run)
    answer = admin_client.post(url, form | {field: form[field] + "\r\nmaxVisit = 5\r\n"})
    told = " ".join(answer.context["adminform"].form.errors[field])
    assert "maxVisit" in told
    assert "maxVisits" in told
    Run.objects.update(**{field: getattr(run, field) + "\nmaxVisit = 5\n"})
    url, form = opened(admin_client, run)
    assert admin_client.post(url, form | {"state": "paused"}).status_code == 302, "an old text does not hold this up"
