"""Roles: what each may see and change in the admin pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.test import Client

from server.accounts.models import Contributor
from server.accounts.roles import Role, role_of, role_set, roles_write
from server.games.models import Game, GameState
from server.jobs.models import Job
from server.runs.models import Run
from tests.server.factories import ask, game_form, make_contributor, upload_training

pytestmark = pytest.mark.django_db


def browser_of(role: Role) -> Client:
    """The browser of somebody with that role."""
    person = make_contributor(f"the.{role.value}").user
    role_set(person, role)
    browser = Client()
    browser.force_login(person)
    return browser


@pytest.mark.parametrize(
    ("role", "statuses"),
    [
        (Role.VOLUNTEER, {"games/game": 302, "runs/run": 302, "auth/user": 302}),
        (Role.MODERATOR, {"games/game": 200, "runs/run": 200, "accounts/contributor": 200, "auth/user": 403}),
        (Role.OPERATOR, {"games/game": 200, "runs/run": 200, "training/trainingstate": 200, "auth/user": 403}),
        (Role.ADMIN, {"games/game": 200, "runs/run": 200, "auth/user": 200, "auth/group": 200}),
    ],
)
def test_what_each_role_sees(run: Run, role: Role, statuses: dict[str, int]) -> None:
    browser = browser_of(role)
    assert {page: browser.get(f"/admin/{page}/").status_code for page in statuses} == statuses
    assert role.value in browser.get("/account/").content.decode()


@pytest.mark.parametrize(
    ("role", "runs", "contributors"),
    [(Role.MODERATOR, 403, 302), (Role.OPERATOR, 302, 302), (Role.ADMIN, 302, 302)],
)
def test_what_each_role_changes(run: Run, anna: Contributor, role: Role, runs: int, contributors: int) -> None:
    browser = browser_of(role)
    tokens = "/admin/accounts/clienttoken/"
    assert browser.get(tokens).status_code == 404, "tokens are their users' own"
    page = f"/admin/accounts/contributor/{anna.pk}/change/"
    assert browser.post(page, {"user": anna.user.pk}).status_code == contributors
    anna.refresh_from_db()
    assert not anna.may_contribute
    answer = browser.post(f"/admin/runs/run/{run.pk}/change/", {"rating_share": "2"})
    assert answer.status_code == (403 if runs == 403 else 200), "a form with faults is shown again"


@pytest.mark.parametrize(("role", "refused"), [(Role.VOLUNTEER, False), (Role.MODERATOR, True)])
def test_games_are_judged_by_moderators(client: Client, run: Run, anna: Contributor, role: Role, refused: bool) -> None:
    ask(client, anna)
    upload_training(client, anna, game_form(Job.objects.get()))
    game = Game.objects.get()
    browser_of(role).post("/admin/games/game/", {"action": "refuse", "_selected_action": [game.pk]})
    game.refresh_from_db()
    assert game.state == GameState.RECEIVED, "only counted ones are refused by hand"
    page = browser_of(Role.OPERATOR).get("/admin/games/game/").content.decode()
    assert 'value="refuse"' in page


def actions() -> Iterator[tuple[str, object]]:
    """Every action that an admin page offers."""
    for page in admin.site._registry.values():
        for name in page.actions or ():
            yield f"{type(page).__name__}.{name}", getattr(page, str(name))


def test_every_action_asks_for_a_permission() -> None:
    """Else whoever sees a list could change what is in it."""
    assert {name for name, action in actions() if not getattr(action, "allowed_permissions", None)} == set()


def test_a_role_takes_the_place_of_the_one_before(anna: Contributor, capsys: pytest.CaptureFixture[str]) -> None:
    user = anna.user
    for role in (Role.OPERATOR, Role.MODERATOR, Role.ADMIN, Role.VOLUNTEER):
        call_command("set_role", "anna", role.value)
        user.refresh_from_db()
        assert role_of(user) is role
        assert user.is_staff is (role is not Role.VOLUNTEER)
    assert not user.groups.exists()
    assert "anna is volunteer now" in capsys.readouterr().out
    with pytest.raises(CommandError, match="there is no user"):
        call_command("set_role", "nobody", "admin")
    call_command("add_contributor", "berta", "--role", "moderator")
    assert role_of(Contributor.objects.get(user__username="berta").user) is Role.MODERATOR


def test_an_admin_gives_roles_on_the_page_of_users_but_not_to_itself(anna: Contributor) -> None:
    browser = browser_of(Role.ADMIN)
    own = Contributor.objects.get(user__username="the.admin").user
    page = "/admin/auth/user/"
    browser.post(page, {"action": "make_operator", "_selected_action": [anna.user.pk, own.pk]})
    anna.user.refresh_from_db()
    own.refresh_from_db()
    assert (role_of(anna.user), role_of(own)) == (Role.OPERATOR, Role.ADMIN)
    browser.post(page, {"action": "make_volunteer", "_selected_action": [anna.user.pk]})
    browser.post(page, {"action": "delete_account", "_selected_action": [anna.user.pk]})
    anna.user.refresh_from_db()
    assert anna.user.username.startswith("(deleted")


def test_nobody_below_an_admin_may_change_users() -> None:
    roles_write()
    for group in Group.objects.all():
        labels = set(group.permissions.values_list("content_type__app_label", "content_type__model"))
        assert not {label for label in labels if label[0] in ("auth", "admin", "sessions")}
        assert {model for label, model in labels if label == "accounts"} == {"contributor"}
