"""The volunteer's program."""

import common  # noqa: F401  settles the cache of compiled kernels before numba is imported
