"""What client, server and nets agree on. Importing it settles where compiled kernels are kept."""

from common import kernel_cache

kernel_cache.use()
