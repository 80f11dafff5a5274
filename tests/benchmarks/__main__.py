"""`python -m tests.benchmarks [NAME ...]`: run the benchmarks and print what they measure. Nothing is asserted.

Each module of this folder but for those in ``HELPERS`` is one benchmark; ratios are taken within one run against the
baseline that the line names. `tests.benchmarks.PRECISION` says how evaluators compute. `tests.benchmarks.techniques`,
`tests.benchmarks.root_distances`, `tests.benchmarks.beside_katago` and `tests.benchmarks.same_statistics` take long and
files of their own, so they have their own command lines.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import tests.benchmarks

HELPERS = ("__main__", "beside_katago", "root_distances", "same_statistics", "techniques", "timed_pool")


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all of them; returns the exit code."""
    known = [module.name for module in pkgutil.iter_modules(tests.benchmarks.__path__) if module.name not in HELPERS]
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(known)}")
        return 2
    for name in names or known:
        print(f"== {name}", flush=True)
        importlib.import_module(f"tests.benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
