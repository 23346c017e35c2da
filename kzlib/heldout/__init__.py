"""Sixty modules of our own, never trained on: level 1 single operators, level 2 chains of 2 to 5 (issue 5)."""
