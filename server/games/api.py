"""Games over HTTP: the two uploads (contribute-protocol.md 8, 9), and read-only lists."""

from __future__ import annotations

from typing import Any, ClassVar

from django.core.files.uploadedfile import UploadedFile
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import IsAuthenticatedOrReadOnly
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.wire import ErrorAnswer, MessageError, own_client_version
from common.wire_uploads import GameUpload, RatingGameUpload, TrainingGameUpload, UploadAnswer
from server.accounts.selectors import require_contributor
from server.api import (
    form_schema,
    network_name_of,
    network_url,
    paged_by_key,
    read_form,
    refuse_oversized_body,
    run_name_of,
    run_url,
)
from server.errors import GameExists, GameRefused
from server.games.blocks import games_count, key_at
from server.games.models import Game, GameKind
from server.games.receiving import Names, game_receive
from server.games.selectors import games


def game_details(request: Request, game: Game) -> dict[str, Any]:
    """A game for readers."""
    return {
        "id": game.pk,
        "kg_game_uid": game.uid,
        "run": run_url(request, game.run.name),
        "black_network": network_url(request, game.black_network.name),
        "white_network": network_url(request, game.white_network.name),
        "submitted_by": game.contributor.user.get_username(),
        "created_at": game.received_at,
        "state": game.state,
        "reason": game.reason,
        "board_size_x": game.board_size_x,
        "board_size_y": game.board_size_y,
        "handicap": game.handicap,
        "komi": float(game.komi),
        "rules": game.rules,
        "gametype": game.gametype,
        "extra_metadata": game.extra_metadata,
        "winner": game.winner,
        "score": None if game.score is None else float(game.score),
        "resigned": game.resigned,
        "game_length": game.game_length,
        "num_training_rows": game.num_training_rows,
        "net_changes": [{"turn": turn, "network": network_url(request, name)} for turn, name in game.net_changes],
    }


def names_of(form: GameUpload) -> Names:
    """What the addresses of a form name."""
    changes = form.net_changes or () if isinstance(form, TrainingGameUpload) else ()
    return Names(
        run=run_name_of(form.run),
        black_network=network_name_of(form.black_network),
        white_network=network_name_of(form.white_network),
        net_changes=tuple((change.turn, network_name_of(change.network)) for change in changes),
    )


class _GamesApi(APIView):
    """Uploads and list of one kind of game."""

    permission_classes = (IsAuthenticatedOrReadOnly,)
    kind: ClassVar[GameKind]
    form: ClassVar[type[GameUpload]]

    def list(self, request: Request) -> Response:
        """A page of games, newest first."""
        return paged_by_key(
            request,
            games(self.kind),
            lambda game: game_details(request, game),
            count=games_count(self.kind),
            key_at=lambda place: key_at(self.kind, place),
        )

    def receive(self, request: Request) -> Response:
        """Take an upload. A repeated one is 400 for KataGo's client, and 200 with a flag for ours."""
        refuse_oversized_body(request)
        contributor = require_contributor(request.user)
        try:
            form = read_form(self.form, request)
        except MessageError as error:
            raise GameRefused(f"its form is malformed: {error}") from None
        names = names_of(form)
        sgf = _file(request, "sgf_file")
        rows = _file(request, "training_data_file") if self.kind == GameKind.TRAINING else None
        try:
            game_receive(contributor=contributor, form=form, names=names, sgf=sgf, rows=rows)
        except GameExists as error:
            if own_client_version(request.headers.get("User-Agent", "")) is None:
                raise
            answer = UploadAnswer(kg_game_uid=form.kg_game_uid, already_known=True, detail=str(error))
            return Response(answer.to_object())
        detail = "received; it counts once its audit has passed"
        return Response(UploadAnswer(kg_game_uid=form.kg_game_uid, detail=detail).to_object(), status=201)


def _file(request: Request, name: str) -> bytes:
    """Content of an uploaded file.

    Raises:
        GameRefused: the part is missing, or is no file.
    """
    part = request.FILES.get(name)
    if not isinstance(part, UploadedFile):
        raise GameRefused(f"the file {name} is missing from the form")
    return bytes(part.read())


class TrainingGamesApi(_GamesApi):
    """Games of self-play, with their training rows."""

    kind = GameKind.TRAINING
    form = TrainingGameUpload

    @extend_schema(operation_id="training_game_list", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Answer a page of training games, newest first."""
        return self.list(request)

    @extend_schema(
        operation_id="training_game_upload",
        request={"multipart/form-data": form_schema(TrainingGameUpload, "sgf_file", "training_data_file")},
        responses={201: UploadAnswer, 200: UploadAnswer, 400: ErrorAnswer, 401: ErrorAnswer, 403: ErrorAnswer},
    )
    def post(self, request: Request) -> Response:
        """Take a training game: the form's fields, ``sgf_file`` and ``training_data_file``."""
        return self.receive(request)


class RatingGamesApi(_GamesApi):
    """Games between two networks, for gating and rating."""

    kind = GameKind.RATING
    form = RatingGameUpload

    @extend_schema(operation_id="rating_game_list", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Answer a page of rating games, newest first."""
        return self.list(request)

    @extend_schema(
        operation_id="rating_game_upload",
        request={"multipart/form-data": form_schema(RatingGameUpload, "sgf_file")},
        responses={201: UploadAnswer, 200: UploadAnswer, 400: ErrorAnswer, 401: ErrorAnswer, 403: ErrorAnswer},
    )
    def post(self, request: Request) -> Response:
        """Take a rating game: the form's fields and ``sgf_file``."""
        return self.receive(request)


class _GameApi(APIView):
    """One game of one kind."""

    kind: ClassVar[GameKind]

    def details(self, request: Request, key: int) -> Response:
        """The game of that id."""
        game = games(self.kind).filter(pk=key).first()
        if game is None:
            raise Http404
        return Response(game_details(request, game))


class TrainingGameApi(_GameApi):
    """One game of self-play."""

    kind = GameKind.TRAINING

    @extend_schema(operation_id="training_game_details", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, key: int) -> Response:
        """Answer the training game of that id."""
        return self.details(request, key)


class RatingGameApi(_GameApi):
    """One game between two networks."""

    kind = GameKind.RATING

    @extend_schema(operation_id="rating_game_details", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, key: int) -> Response:
        """Answer the rating game of that id."""
        return self.details(request, key)
