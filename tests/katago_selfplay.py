"""A real KataGo's own self-play, by the same text as ours: what tests and benchmarks start, and count in its folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from client.selfplay.texts import text_of
from common import config_text
from common.parameters import parse_row_files


class KataGoRun(NamedTuple):
    """How KataGo plays a text."""

    program: Path
    folder: Path  # its models, configuration and games; made
    net: Path | None = None  # none: it plays as without a net
    games_at_once: int = 8
    threads: int = 2  # that evaluate, each two positions at a time


def whole_text(configs: Sequence[str], overrides: Sequence[str]) -> str:
    """The text that both programs are given; see `client.selfplay.texts.text_of`."""
    return text_of(configs, overrides, seed=0).text


def command(run: KataGoRun, text: str, length: int, games: int | None = None) -> list[str]:
    """The command that plays; its games will be in ``folder / "games"``.

    What the text does not give has the same default in both programs.

    Args:
        length: edge of the tensors of rows.
        games: how many; None: until it is stopped.
    """
    models = run.folder / "models"
    models.mkdir(parents=True)
    if run.net is not None:
        shutil.copy(run.net, models / run.net.name)
    own: dict[str, object] = {
        "numGameThreads": run.games_at_once,
        "numEigenThreadsPerModel": run.threads,
        "dataBoardLen": length,
        "maxDataQueueSize": 2000,
        "logGamesEvery": 10,
        "switchNetsMidGame": False,
        "nnCacheSizePowerOfTwo": 18,
        "nnMutexPoolSizePowerOfTwo": 14,
        "homeDataDir": run.folder,
        "logToStdout": False,
    }
    files = parse_row_files(text)
    own |= {
        "maxRowsPerTrainFile": files.max_rows_per_train_file,
        "firstFileRandMinProp": files.first_file_rand_min_prop,
    }
    values = {key: entry.value for key, entry in config_text.parse(text).items()}
    values |= {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in own.items()}
    config = run.folder / "selfplay.cfg"
    config.write_text(config_text.write(values))
    called = [str(run.program), "selfplay", "-models-dir", str(models), "-output-dir", str(run.folder / "games")]
    return [*called, "-config", str(config), *([] if games is None else ["-max-games-total", str(games)])]
