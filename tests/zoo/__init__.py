"""The zoo's files; read through `kzlib.zoo`."""

from kzlib.zoo import ROOT, Case, cases, tasks

__all__ = ["ROOT", "Case", "cases", "tasks"]
