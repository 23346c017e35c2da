"""The 442 candidate Torch APIs: catalogue, mined statistics, miner, resolver and API-set samplers (issue 5)."""

from kzlib.apis.catalogue import Api, Counts, catalogue, find, in_classes
from kzlib.apis.mine import Mined, mine
from kzlib.apis.pool import pool_text, read_pool
from kzlib.apis.resolve import Resolution, resolve
from kzlib.apis.sampler import SetDistribution, sample_sets
from kzlib.apis.statistics import Statistics, statistics

__all__ = [
    "Api", "Counts", "Mined", "Resolution", "SetDistribution", "Statistics",
    "catalogue", "find", "in_classes", "mine", "pool_text", "read_pool", "resolve", "sample_sets", "statistics",
]  # fmt: skip
