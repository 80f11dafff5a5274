"""Messages of the protocol: golden texts, round trips, and for each field one missing, one too long, one of the
wrong type. The golden files were written from the tables of spec contribute-protocol.md 3, 4, 6, 8, 9."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given

from common import wire, wire_uploads
from common.go.rules import Rules
from common.wire_base import FormMessage, JsonMessage
from tests import FIXTURES, ROOT
from tests.common.made_rules import any_rules

GOLDEN = FIXTURES / "wire"


def golden(name: str) -> dict[str, Any]:
    value = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


JSON_MESSAGES: dict[str, type[JsonMessage]] = {
    "run.json": wire.RunInfo,
    "network.json": wire.NetworkInfo,
    "network_random.json": wire.NetworkInfo,
    "task_selfplay.json": wire.SelfplayTask,
    "task_rating.json": wire.RatingTask,
    "upload_answer.json": wire_uploads.UploadAnswer,
    "error.json": wire.ErrorAnswer,
}
FORMS: dict[str, type[FormMessage]] = {
    "task_request.json": wire.TaskRequest,
    "training_game.json": wire_uploads.TrainingGameUpload,
    "rating_game.json": wire_uploads.RatingGameUpload,
}


@pytest.mark.parametrize("name", JSON_MESSAGES)
def test_a_golden_answer_is_read_and_written_unchanged(name: str) -> None:
    text = (GOLDEN / name).read_text(encoding="utf-8")
    message = JSON_MESSAGES[name].from_json(text)
    assert message.to_object() == json.loads(text)
    assert JSON_MESSAGES[name].from_json(message.to_json()) == message
    assert JSON_MESSAGES[name].from_object(json.loads(text)) == message


@pytest.mark.parametrize("name", FORMS)
def test_a_golden_form_is_read_and_written_unchanged_and_in_order(name: str) -> None:
    form = golden(name)
    message = FORMS[name].from_form(form)
    assert list(message.to_form().items()) == list(form.items())
    assert FORMS[name].from_form(message.to_form()) == message


def test_tasks_are_told_apart_by_kind() -> None:
    assert isinstance(wire.read_task((GOLDEN / "task_selfplay.json").read_bytes()), wire.SelfplayTask)
    assert isinstance(wire.read_task((GOLDEN / "task_rating.json").read_bytes()), wire.RatingTask)
    other = golden("task_rating.json") | {"kind": "analysis"}
    with pytest.raises(wire.MessageError, match="kind"):
        wire.read_task(json.dumps(other))


def test_unknown_fields_are_ignored_everywhere() -> None:
    for name, kind in JSON_MESSAGES.items():
        assert kind.from_object(golden(name) | {"new_field": [1]}) == kind.from_object(golden(name))
    for form_name, form_kind in FORMS.items():
        assert form_kind.from_form(golden(form_name) | {"new": "x"}) == form_kind.from_form(golden(form_name))


OPTIONAL = {
    "network.json": {"created_at", "run"},
    "network_random.json": {"created_at", "run"},
    "task_selfplay.json": {"start_poses", "overrides", "job_id", "lease_seconds"},
    "task_rating.json": {"start_poses", "overrides", "job_id", "lease_seconds"},
    "upload_answer.json": {"kg_game_uid", "already_known", "detail"},
}


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in JSON_MESSAGES for key in golden(name)])
def test_each_missing_field_is_named(name: str, key: str) -> None:
    fields = golden(name)
    del fields[key]
    if key in OPTIONAL.get(name, ()):
        JSON_MESSAGES[name].from_object(fields)
    else:
        with pytest.raises(wire.MessageError, match=f"^{key}: Field required"):
            JSON_MESSAGES[name].from_object(fields)


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in FORMS for key in golden(name)])
def test_each_missing_form_field_is_named(name: str, key: str) -> None:
    fields = golden(name)
    del fields[key]
    if name == "task_request.json" or key == "job_id":
        FORMS[name].from_form(fields)  # katago-server has a default for each
    else:
        with pytest.raises(wire.MessageError, match=f"^{key}: Field required"):
            FORMS[name].from_form(fields)


WRONG_ANSWERS: list[tuple[str, str, object]] = [
    ("run.json", "name", 5),
    ("run.json", "name", "x" * 33),
    ("run.json", "name", "../up"),
    ("run.json", "url", None),
    ("run.json", "url", "ftp://host/"),
    ("run.json", "url", "http://h/" + "x" * 4096),
    ("run.json", "data_board_len", "19"),
    ("run.json", "data_board_len", 19.0),
    ("run.json", "data_board_len", 20),
    ("run.json", "data_board_len", 2),
    ("run.json", "inputs_version", 8),
    ("run.json", "inputs_version", True),
    ("run.json", "max_search_threads_allowed", 0),
    ("run.json", "max_search_threads_allowed", "8"),
    ("network.json", "name", 7),
    ("network.json", "name", "x" * 129),
    ("network.json", "name", "a/b"),
    ("network.json", "url", 1),
    ("network.json", "url", "http://h/" + "x" * 4096),
    ("network.json", "model_file", "file:///etc/passwd"),
    ("network.json", "model_file", None),
    ("network.json", "model_file", "http://h/" + "x" * 4096),
    ("network.json", "model_file_bytes", -1),
    ("network.json", "model_file_bytes", 0),
    ("network.json", "model_file_bytes", "123"),
    ("network.json", "model_file_sha256", "ab"),
    ("network.json", "model_file_sha256", "g" * 64),
    ("network.json", "model_file_sha256", "a" * 65),
    ("network.json", "model_file_sha256", ""),
    ("network.json", "is_random", "false"),
    ("network.json", "is_random", 0),
    ("network.json", "created_at", 1700000000),
    ("network.json", "created_at", "2" * 129),
    ("network.json", "run", 3),
    ("task_selfplay.json", "kind", "rating"),
    ("task_selfplay.json", "run", "main"),
    ("task_selfplay.json", "config", ["maxVisits = 1"]),
    ("task_selfplay.json", "config", "x" * 32769),
    ("task_selfplay.json", "config", "\N{GREEK SMALL LETTER PI}" * 16385),
    ("task_selfplay.json", "network", None),
    ("task_selfplay.json", "start_poses", {}),
    ("task_selfplay.json", "overrides", ["a=1" * 400]),
    ("task_selfplay.json", "overrides", ["a=1"] * 65),
    ("task_selfplay.json", "overrides", "a=1"),
    ("task_selfplay.json", "job_id", 12),
    ("task_selfplay.json", "job_id", "x" * 65),
    ("task_selfplay.json", "lease_seconds", "600"),
    ("task_selfplay.json", "lease_seconds", 0),
    ("task_selfplay.json", "lease_seconds", 10**9),
    ("task_rating.json", "black_network", {}),
    ("task_rating.json", "white_network", []),
    ("upload_answer.json", "kg_game_uid", 5),
    ("upload_answer.json", "kg_game_uid", "0" * 49),
    ("upload_answer.json", "already_known", "yes"),
    ("upload_answer.json", "detail", 5),
    ("error.json", "detail", ["a"]),
    ("error.json", "detail", ""),
    ("error.json", "code", "explode"),
]


@pytest.mark.parametrize(("name", "key", "value"), WRONG_ANSWERS)
def test_wrong_type_and_limits_of_answers(name: str, key: str, value: object) -> None:
    with pytest.raises(wire.MessageError, match=key):
        JSON_MESSAGES[name].from_object(golden(name) | {key: value})


WRONG_FORMS: list[tuple[str, str, object]] = [
    ("task_request.json", "git_revision", "a" * 81),
    ("task_request.json", "git_revision", "a\nb"),
    ("task_request.json", "client_instance_id", "xyz"),
    ("task_request.json", "client_instance_id", "A" * 33),
    ("task_request.json", "task_rep_factor", "4.0"),
    ("task_request.json", "task_rep_factor", "65"),
    ("task_request.json", "task_rep_factor", "0"),
    ("task_request.json", "allow_selfplay_task", "yes"),
    ("task_request.json", "allow_rating_task", "1"),
    ("training_game.json", "board_size_x", "1"),
    ("training_game.json", "board_size_y", "20"),
    ("training_game.json", "board_size_x", "nine"),
    ("training_game.json", "handicap", "1"),
    ("training_game.json", "handicap", "1001"),
    ("training_game.json", "handicap", "1_0"),
    ("training_game.json", "komi", "7.3"),
    ("training_game.json", "komi", "1000.5"),
    ("training_game.json", "komi", "nan"),
    ("training_game.json", "komi", "1e1"),
    ("training_game.json", "gametype", "Normal!"),
    ("training_game.json", "gametype", "n" * 25),
    ("training_game.json", "rules", "koSIMPLE"),
    ("training_game.json", "rules", "[]"),
    ("training_game.json", "rules", '{"ko":"SPIGHT","scoring":"AREA","tax":"NONE","suicide":true}'),
    ("training_game.json", "rules", " " * 4097),
    ("training_game.json", "rules", "[" * 4000),
    ("training_game.json", "extra_metadata", "{"),
    ("training_game.json", "extra_metadata", '{"playout_doubling_advantage":"0"}'),
    ("training_game.json", "extra_metadata", '{"draw_equivalent_wins_for_white":NaN}'),
    ("training_game.json", "extra_metadata", '{"draw_equivalent_wins_for_white":1.5}'),
    ("training_game.json", "extra_metadata", json.dumps({"pos_metadata": "x" * 1025})),
    ("training_game.json", "winner", "Black"),
    ("training_game.json", "score", "10000.5"),
    ("training_game.json", "score", "half"),
    ("training_game.json", "resigned", "no"),
    ("training_game.json", "game_length", "-1"),
    ("training_game.json", "game_length", "50001"),
    ("training_game.json", "game_length", "many"),
    ("training_game.json", "kg_game_uid", "0" * 31),
    ("training_game.json", "kg_game_uid", "0" * 33),
    ("training_game.json", "kg_game_uid", "Z" * 32),
    ("training_game.json", "kg_game_uid", "0" * 31 + "\n"),
    ("training_game.json", "run", "main"),
    ("training_game.json", "white_network", ""),
    ("training_game.json", "black_network", "http://h/" + "x" * 4096),
    ("training_game.json", "num_training_rows", "0"),
    ("training_game.json", "num_training_rows", "10001"),
    ("training_game.json", "num_training_rows", "x"),
    ("training_game.json", "job_id", "a b"),
    ("training_game.json", "job_id", "0" * 65),
    ("training_game.json", "net_changes", "[]"),
    ("training_game.json", "net_changes", "{}"),
    ("training_game.json", "net_changes", '[{"turn":0,"network":"http://a/b/"}]'),
    ("training_game.json", "net_changes", '[{"turn":"1","network":"http://a/b/"}]'),
    ("training_game.json", "net_changes", '[{"turn":1,"network":"b"}]'),
    ("training_game.json", "net_changes", '[{"turn":1}]'),
    ("training_game.json", "net_changes", " " * (1 << 17)),
    ("training_game.json", "net_changes", json.dumps([{"turn": n, "network": "http://a/b/"} for n in range(1, 18)])),
]


@pytest.mark.parametrize(("name", "key", "value"), WRONG_FORMS)
def test_wrong_type_and_limits_of_forms(name: str, key: str, value: object) -> None:
    with pytest.raises(wire.MessageError, match=f"^{key}"):
        FORMS[name].from_form(golden(name) | {key: value})


POSITION: dict[str, Any] = golden("task_selfplay.json")["start_poses"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"xSize": "7"}, "xSize"),
        ({"ySize": 20}, "ySize"),
        ({"board": "..."}, "board"),
        ({"board": "...../...../...../...../....Z"}, "board"),
        ({"board": "x" * 400}, "board"),
        ({"nextPla": "Grey"}, "nextPla"),
        ({"moveLocs": ["A1"]}, "1 moves|for 1"),
        ({"moveLocs": ["F1", "pass"]}, "'F1'"),
        ({"moveLocs": ["I1", "pass"]}, "'I1'"),
        ({"moveLocs": ["A6", "pass"]}, "'A6'"),
        ({"moveLocs": "A1"}, "moveLocs"),
        ({"movePlas": ["B", 1]}, "movePlas"),
        ({"initialTurnNumber": 1.5}, "initialTurnNumber"),
        ({"initialTurnNumber": -1}, "initialTurnNumber"),
        ({"hintLoc": "E9"}, "'E9'"),
        ({"hintLoc": 3}, "hintLoc"),
        ({"weight": 0}, "weight"),
        ({"weight": "1"}, "weight"),
        ({"metadata": 1}, "metadata"),
        ({"metadata": "x" * 1025}, "metadata"),
        ({"trainingWeight": 5}, "trainingWeight"),
    ],
)
def test_a_malformed_start_position_makes_the_task_fail(change: dict[str, Any], message: str) -> None:
    task = golden("task_selfplay.json") | {"start_poses": [POSITION | change]}
    with pytest.raises(wire.MessageError, match=message):
        wire.read_task(json.dumps(task))


@pytest.mark.parametrize("key", ["xSize", "ySize", "board", "nextPla", "moveLocs", "movePlas", "initialTurnNumber"])
def test_a_start_position_needs(key: str) -> None:
    with pytest.raises(wire.MessageError, match=key):
        wire.StartPosition.from_object({name: value for name, value in POSITION.items() if name != key})


def test_start_position_spellings() -> None:
    plain = wire.StartPosition.from_object(POSITION)
    assert plain == wire.StartPosition.from_object(POSITION | {"nextPla": "White"})
    assert plain.hint == "C3"
    for nothing in ("", "null", None):
        position = wire.StartPosition.from_object(POSITION | {"hintLoc": nothing})
        assert position.hint is None
        assert position.to_object()["hintLoc"] == "null"


def test_rating_tasks_have_two_dated_networks() -> None:
    task = golden("task_rating.json")
    with pytest.raises(wire.MessageError, match="two different"):
        wire.RatingTask.from_object(task | {"white_network": task["black_network"]})
    undated = {key: value for key, value in task["white_network"].items() if key != "created_at"}
    with pytest.raises(wire.MessageError, match=r"white_network\.created_at"):
        wire.RatingTask.from_object(task | {"white_network": undated})
    game = golden("rating_game.json")
    with pytest.raises(wire.MessageError, match="two different"):
        wire_uploads.RatingGameUpload.from_form(game | {"white_network": game["black_network"]})


def test_upload_details() -> None:
    game = golden("training_game.json")
    with pytest.raises(wire.MessageError, match="winner"):
        wire_uploads.TrainingGameUpload.from_form(game | {"winner": "0", "resigned": "true"})
    lower = wire_uploads.TrainingGameUpload.from_form(game | {"kg_game_uid": str(game["kg_game_uid"]).lower()})
    assert lower.kg_game_uid == game["kg_game_uid"]
    assert wire_uploads.TrainingGameUpload.from_form(game | {"score": ""}).score is None
    assert wire_uploads.TrainingGameUpload.from_form(game | {"score": ""}).to_form()["score"] == ""
    assert wire_uploads.TrainingGameUpload.from_form(game | {"job_id": ""}).job_id is None
    assert wire_uploads.TrainingGameUpload.from_form(game | {"komi": "-0"}).to_form()["komi"] == "0"
    assert wire_uploads.TrainingGameUpload.from_form(game | {"score": "-10000"}).to_form()["score"] == "-10000"
    rules = (
        '{"ko":"SITUATIONAL","scoring":"AREA","tax":"NONE","suicide":false,"hasButton":true,"whiteHandicapBonus":"N-1"}'
    )
    written = wire_uploads.TrainingGameUpload.from_form(game | {"rules": rules}).to_form()["rules"]
    assert json.loads(written) == json.loads(rules)
    assert wire_uploads.form_game_type("cleanuptraining") == "cleanup_training"
    assert wire_uploads.form_game_type("fork") == "fork"


@given(any_rules())
def test_every_rule_is_told(rules: Rules) -> None:
    told = rules.to_json(komi=False, compact=True)
    assert wire_uploads.UploadedRules.from_object(told).to_object() == told


@pytest.mark.parametrize("key", ["ko_rule", "passStones", "komi", "hasbutton"])
def test_a_rule_that_is_not_known_is_refused(key: str) -> None:
    """What is dropped would make another game of it, which is then audited and learned from."""
    game = golden("training_game.json")
    rules = json.loads(str(game["rules"])) | {key: 1}
    with pytest.raises(wire.MessageError, match=rf"^rules\.{key}: is not known here, and cannot be passed over$"):
        wire_uploads.TrainingGameUpload.from_form(game | {"rules": json.dumps(rules)})


def test_several_problems_are_listed_but_not_all() -> None:
    with pytest.raises(wire.MessageError, match=r"^board_size_x: .*; and \d+ more$"):
        wire_uploads.TrainingGameUpload.from_form({})


def test_not_json_is_a_message_error() -> None:
    for body in (b"", b"<html>", b'{"name":', b"\xff\xfe", b"[]"):
        with pytest.raises(wire.MessageError):
            wire.RunInfo.from_json(body)
        with pytest.raises(wire.MessageError):
            wire.read_task(body)


@pytest.mark.parametrize(
    ("status", "body", "code", "detail"),
    [
        (400, '{"detail":"too old","code":"update_client"}', "update_client", "too old"),
        (400, '{"detail":"no longer enabled for x","code":"retry"}', "retry", "no longer enabled for x"),
        (400, '{"detail":"it already exists","code":"already_stored"}', "already_stored", "it already exists"),
        (400, '{"code":"already_stored"}', "retry", "status 400"),
        (400, '{"kg_game_uid":["game with this uid already exists."]}', "already_stored", "game with this uid"),
        (400, '{"message":"the uploaded data possibly already exists"}', "retry", "status 400"),
        (400, '{"error":"this user already exists"}', "retry", "this user already exists"),
        (400, '["the session already exists"]', "retry", "status 400"),
        (400, '{"kg_game_uid":"game already exists"}', "retry", "status 400"),
        (400, '{"kg_game_uid":[1,["already exists"],"is required"]}', "retry", "status 400"),
        (409, '{"kg_game_uid":["game with this uid already exists."]}', "retry", "status 409"),
        (400, "<html>this may already exist</html>", "retry", "status 400"),
        (400, "<html>no longer enabled for guests</html>", "retry", "status 400"),
        (401, "<html>log in</html>", "retry", "status 401"),
        (403, '{"detail":["x"]}', "retry", "status 403"),
        (400, '{"non_field_errors":["no longer enabled for training games"]}', "drop_game", "for training games"),
        (400, '{"error":"uploads are no longer enabled for guests"}', "retry", "for guests"),
        (400, '{"error":"server is only serving rating games right now"}', "retry", "server is only"),
        (400, '{"detail":"bad","code":"from the future"}', "retry", "bad"),
        (401, '{"detail":"wrong password"}', "stop", "wrong password"),
        (403, "", "retry", "status 403"),
        (404, '{"error":"no active run"}', "retry", "no active run"),
        (413, "<html>too large</html>", "retry", "status 413"),
        (429, '["slow down"]', "retry", "status 429"),
        (502, b"\xff\xff", "retry", "status 502"),
        (503, '{"detail":{"a":1}}', "retry", "status 503"),
        (500, "[" * 100_000, "retry", "status 500"),
    ],
)
def test_what_an_error_means(status: int, body: bytes | str, code: str, detail: str) -> None:
    answer = wire.read_error(status, body)
    assert answer.code == code
    assert detail in answer.detail


def test_phrases_are_those_that_the_real_client_searches_for() -> None:
    assert wire.PHRASE_ONLY_RATING == "server is only serving rating games right now"
    assert wire.PHRASE_ALREADY_EXISTS == "already exist"
    assert wire.PHRASE_NO_LONGER_ENABLED == "no longer enabled for"
    assert wire.PHRASE_NO_PERMISSION == "permission to perform"


def test_times_sort_as_text() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert wire.format_created_at(noon) == "2026-03-01T12:00:00.000000Z"
    assert wire.format_created_at(noon.astimezone(timezone(timedelta(hours=9)))) == wire.format_created_at(noon)
    assert wire.format_created_at(noon) < wire.format_created_at(noon + timedelta(microseconds=1))
    with pytest.raises(ValueError, match="time zone"):
        wire.format_created_at(datetime(2026, 3, 1))


def test_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == wire.CLIENT_VERSION
    assert wire.own_client_version(wire.USER_AGENT) == tuple(int(part) for part in wire.CLIENT_VERSION.split("."))
    assert wire.own_client_version("tengen/1.12 (linux)") == (1, 12)
    for foreign in ("cpp-httplib/0.7", "tengen", "tengen/", "tengen/x", "xtengen/1.0", "tengen/1.0-evil", ""):
        assert wire.own_client_version(foreign) is None
    assert 40 <= len(wire.CLIENT_REVISION) <= 80
    assert wire.join_url("http://host/base/", wire.PATH_TASKS) == "http://host/base/api/tasks/"
