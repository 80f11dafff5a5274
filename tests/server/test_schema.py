"""The OpenAPI description, made from the wire's messages and the views."""

from __future__ import annotations

import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema

from common import wire, wire_uploads


@pytest.mark.django_db
def test_the_description_is_valid_and_complete(client: Client) -> None:
    with GENERATOR_STATS.silence():
        schema = client.get("/api/schema/").json()
        assert not GENERATOR_STATS
    validate_schema(schema)  # type: ignore[no-untyped-call]
    assert set(schema["paths"]) >= {
        wire.PATH_CURRENT_RUN,
        wire.PATH_TASKS,
        wire.PATH_NEWEST_NETWORK,
        wire.PATH_TRAINING_GAMES,
        wire.PATH_RATING_GAMES,
    }
    task = schema["components"]["schemas"]["Task"]["oneOf"]
    assert {part["$ref"].rpartition("/")[2] for part in task} == {"SelfplayTask", "RatingTask"}
    form = schema["paths"][wire.PATH_TRAINING_GAMES]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    fields = set(wire_uploads.TrainingGameUpload.model_fields) | {"sgf_file", "training_data_file"}
    assert set(form["properties"]) == fields
    assert {"sgf_file", "training_data_file", "kg_game_uid"} <= set(form["required"])
    assert "job_id" not in form["required"]
    assert form["properties"]["board_size_x"] | {"minimum": 2, "maximum": 19} == form["properties"]["board_size_x"]
    task_form = schema["paths"][wire.PATH_TASKS]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    (room, _) = task_form["properties"]["room"]["anyOf"]
    assert (room["minimum"], room["maximum"]) == (1, 1_000_000)
    assert not {"ge", "le"} & {key for field in form["properties"].values() for key in field}
