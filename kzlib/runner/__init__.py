"""Notebooks in order through papermill: keys, stamps, resume, deadlines, and status with reasons.

A stage is done only if its stamp, written last, matches its key. What papermill calls success and is none is listed in
`accept`; the child process is in `execute`, its supervision in `supervise`.
"""

from kzlib.runner.execution import StageFailedError
from kzlib.runner.run import Selection, find_run, look_at, plan, run_profile, status
from kzlib.runner.stamps import Context

__all__ = ["Context", "Selection", "StageFailedError", "find_run", "look_at", "plan", "run_profile", "status"]
