"""KataGo's own ``contribute`` against our server: games that its move limit stops are counted, in both kinds of job.

Asked where ``TENGEN_KATAGO`` names a KataGo built with distributed support. Before it plays it tests each network, for
minutes on a CPU, so this is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from deploy.processes import Child
from tests.e2e.katago_client import OTHER_NET, SUITABLE_NET, contribute
from tests.e2e.system import System, running_system
from tests.katago import katago_program
from tests.oracles import oracle_path

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(3600)]

LIMIT = 14
TEXT = f"bSizes = 7\nbSizeRelProbs = 1\nmaxVisits = 8\nmaxMovesPerGame = {LIMIT}\n"
PATIENCE_S = 3000.0
SERVER = ("web", "audit", "beat")
GAMES = 4


@pytest.fixture(scope="module")
def system() -> Iterator[System]:
    katago_program()
    with running_system(
        "limit",
        *("--data-board-len", "7", "--architecture", "b2c32", "--gate-games", "40", "--gating-share", "0.5"),
        texts="7x7",
        selfplay=TEXT + "cheapSearchVisits = 4\nreducedVisitsMin = 4\n",
        gating=TEXT,
        training={},
        patience_s=PATIENCE_S,
    ) as running:
        manage = running.installation.manage
        manage("add_network", "limit", str(oracle_path(SUITABLE_NET)), "--seed")
        manage("add_network", "limit", str(oracle_path(OTHER_NET)))
        for program in running.installation.server_programs():
            if program.name in SERVER:
                running.children[program.name] = Child(program, running.installation.logs, program.environment)
        yield running


def enough(system: System, counted: str) -> bool:
    return bool(system.one(counted) >= GAMES)


def test_games_that_reach_the_move_limit_are_counted(system: System) -> None:
    program = contribute(system.installation, system.installation.folder / "katago")
    system.children["katago"] = Child(program, system.installation.logs, program.environment)
    for kind in ("training", "rating"):
        stopped = f"from games_game where kind = '{kind}' and state = 'counted' and game_length >= {LIMIT}"
        system.wait_until(
            partial(enough, system, f"select count(*) {stopped} and winner = '0'"),
            f"counted {kind} games of KataGo's client",
        )
    refused = system.ask("select kind, reason_code, reason from games_game where state = 'refused'")
    assert refused == []
    (gate,) = system.ask(
        "select g.played, g.half_points, count(*), sum(case winner when '0' then 1 else 0 end) from gates_gate g"
        " join jobs_job j on j.gate_id = g.id join games_game p on p.job_id = j.id and p.state = 'counted'"
        " where g.state = 'open' group by g.id"
    )
    played, half_points, games, drawn = gate
    assert played == games
    assert drawn <= half_points <= drawn + 2 * (games - drawn)
    print("counted:", system.ask("select kind, winner, count(*) from games_game where state = 'counted' group by 1, 2"))
