"""Whether the database has the tables of this version of the program, and how to say that it has not."""

from __future__ import annotations

from typing import Final

import psycopg2.errors  # type: ignore[import-untyped]
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor

MIGRATE: Final = "the database lacks tables of this version of the program: run `python manage.py migrate`"
_CAUSES: Final = (psycopg2.errors.UndefinedTable, psycopg2.errors.UndefinedColumn)


def missing_tables() -> str:
    """What to do where tables are missing; empty if none are, or if the database does not answer."""
    try:
        executor = MigrationExecutor(connection)
        return MIGRATE if executor.migration_plan(executor.loader.graph.leaf_nodes()) else ""
    except (DatabaseError, InterfaceError):
        return ""
    finally:
        connection.close()


def is_missing_table(error: BaseException | None) -> bool:
    """Whether a query failed since a table, or a column, is not there."""
    return isinstance(error, DatabaseError) and isinstance(error.__cause__, _CAUSES)
