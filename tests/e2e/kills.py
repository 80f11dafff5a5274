"""Light clients of a server whose parts are killed: they send recorded games, and keep what was acknowledged."""

from __future__ import annotations

import itertools
import json
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import requests

from common import wire, wire_uploads
from tests.benchmarks.load.recorded import RecordedGame

RETRY_S: Final = 1.0
"""Pause after an answer that asks for another try, or none."""
PACE_S: Final = 2.0
"""Pause of a client after each game, as if it had been played."""
SELFPLAY: Final = 0.2
"""Share of the requests that may be answered with self-play."""
MOST_GAMES: Final = 4
"""Of one job."""
LOST_JOBS: Final = 0.05
"""Share of the jobs that a client forgets, as one that is switched off."""
TIMEOUT_S: Final = 30.0


@dataclass
class Told:
    """What the clients know, all together."""

    acknowledged: set[str] = field(default_factory=set)
    """Uids of the games that the server said it has."""
    faults: list[str] = field(default_factory=list)
    """Answers that no honest client should get."""
    again: int = 0
    """Games that the server had already when they were sent again."""
    troubles: int = 0
    """Requests that were not answered, or answered by a server in trouble."""

    def has(self, games: int) -> bool:
        """Whether so many games are acknowledged, or something is wrong already."""
        return len(self.acknowledged) >= games or bool(self.faults)


class Crowd:
    """Clients that ask and upload, each in a thread of its own, until they are told to stop.

    A self-play game is sent once, since its moves may not be sent twice; match games are sent over and over. Where the
    recorded games of self-play come to an end, clients ask for matches alone.
    """

    def __init__(self, url: str, headers: Sequence[str], clients: int, games: Sequence[RecordedGame]) -> None:
        self.told = Told()
        self._url = url
        self._training = [game for game in games if game.rows]
        self._matches = itertools.cycle([game for game in games if not game.rows])
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=(headers[number % len(headers)], number))
            for number in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self, patience_s: float) -> None:
        """Let all clients send what they have; then ask for nothing more."""
        self._stop.set()
        for thread in self._threads:
            thread.join(patience_s)
            assert not thread.is_alive(), "a client did not get rid of its games"

    def _live(self, login: str, number: int) -> None:
        drawn = random.Random(number)
        try:
            with requests.Session() as session:
                session.headers.update({"Authorization": login, "User-Agent": wire.USER_AGENT})
                while not self._stop.is_set():
                    count = drawn.randint(1, MOST_GAMES)
                    selfplay = self._take(count) if drawn.random() < SELFPLAY else []
                    task = self._ask(session, count, allow_selfplay=bool(selfplay))
                    if task is None or task["kind"] != "selfplay":
                        self._give_back(selfplay)
                    if task is None:
                        self._stop.wait(RETRY_S * drawn.uniform(0.5, 1.5))
                    elif drawn.random() >= LOST_JOBS:
                        self._play(session, task, selfplay, drawn)
        except Exception as error:  # a thread's end would go unseen
            self._fault(f"client {number}: {error!r}")

    def _take(self, count: int) -> list[RecordedGame]:
        """Games of self-play for a job; none if there are too few."""
        with self._lock:
            if len(self._training) < count:
                return []
            taken, self._training = self._training[:count], self._training[count:]
            return taken

    def _give_back(self, games: list[RecordedGame]) -> None:
        with self._lock:
            self._training += games

    def _ask(self, session: requests.Session, count: int, *, allow_selfplay: bool) -> dict[str, Any] | None:
        request = wire.TaskRequest(
            git_revision=wire.CLIENT_REVISION, task_rep_factor=count, allow_selfplay_task=allow_selfplay
        )
        answer = self._post(
            session, wire.PATH_TASKS, {name: (None, value) for name, value in request.to_form().items()}
        )
        if answer is None:
            return None
        if answer.status_code != 200:
            if wire.read_error(answer.status_code, answer.content).code != wire.ErrorCode.RETRY:
                self._fault(f"no job: {answer.status_code} {answer.text[:300]}")
            return None
        found: dict[str, Any] = json.loads(answer.content)
        return found

    def _play(
        self, session: requests.Session, task: dict[str, Any], selfplay: list[RecordedGame], drawn: random.Random
    ) -> None:
        matches = (next(self._matches).renamed() for _ in range(task["games"]))
        for number, game in enumerate(selfplay if task["kind"] == "selfplay" else matches):
            form = game.form(task, number)
            parts: dict[str, tuple[object, ...]] = {name: (None, value) for name, value in form.items()}
            parts["sgf_file"] = ("game.sgf", game.record(task), wire.SGF_CONTENT_TYPE)
            if game.rows:
                parts["training_data_file"] = ("game.npz", game.rows, wire.NPZ_CONTENT_TYPE)
            path = wire.PATH_TRAINING_GAMES if game.rows else wire.PATH_RATING_GAMES
            while not self._is_taken(self._post(session, path, parts), form["kg_game_uid"]):
                threading.Event().wait(RETRY_S * drawn.uniform(0.5, 1.5))  # also after the stop: it has to be sent
            self._stop.wait(PACE_S * drawn.uniform(0.5, 1.5))

    def _is_taken(self, answer: requests.Response | None, uid: str) -> bool:
        """Whether no further try is due."""
        if answer is None:
            return False
        if answer.status_code not in (200, 201):
            self._fault(f"game {uid} was refused: {answer.status_code} {answer.text[:300]}")
            return True
        told = wire_uploads.UploadAnswer.from_json(answer.content)
        assert (told.kg_game_uid or "").upper() == uid
        with self._lock:
            self.told.acknowledged.add(uid)
            self.told.again += told.already_known
        return True

    def _post(self, session: requests.Session, path: str, parts: Any) -> requests.Response | None:
        """The answer; None for none, and for one that asks for another try."""
        try:
            answer = session.post(self._url + path, files=parts, timeout=TIMEOUT_S)
        except requests.RequestException:
            answer = None
        if answer is None or answer.status_code in (429, 502, 503, 504):
            with self._lock:
                self.told.troubles += 1
            return None
        return answer

    def _fault(self, text: str) -> None:
        with self._lock:
            self.told.faults.append(text)
