"""What `satchel doctor` finds: one line for each thing it looked at, with a remedy where something is wrong."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

Status = Literal["ok", "fixed", "note", "warning", "failure"]


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one check."""

    check: str
    status: Status
    message: str
    remedy: str = ""
    file: str = ""
    line: int | None = None


class Repairable(Exception):
    """Something is wrong that can be put right safely: what it is, how a person does it, and the repair."""

    def __init__(self, message: str, remedy: str, repair: Callable[[], str], *, is_failure: bool = True) -> None:
        super().__init__(message)
        self.message, self.remedy, self.repair = message, remedy, repair
        self.status: Status = "failure" if is_failure else "warning"


def attempt(check: str, look: Callable[[], str], *, is_fixing: bool) -> Finding:
    """Look at something that may be repairable, and with `is_fixing` repair it and look again."""
    try:
        return Finding(check=check, status="ok", message=look())
    except Repairable as wrong:
        if not is_fixing:
            return Finding(check=check, status=wrong.status, message=wrong.message, remedy=wrong.remedy)
        try:
            done = wrong.repair()
            look()
        except Exception as error:
            failed = f"{wrong.message} It could not be repaired: {error}"
            return Finding(check=check, status="failure", message=failed, remedy=wrong.remedy)
        return Finding(check=check, status="fixed", message=f"{wrong.message} {done}")


def is_problem(finding: Finding) -> bool:
    """Whether a finding makes the command fail."""
    return finding.status == "failure"
