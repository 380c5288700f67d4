"""Servers keep history and trash within the retention by themselves, beside their work."""

from satchel.app import upkeep
from satchel.model import KINDS, PromptDraft, Retention, Scope
from satchel.services import history, prompts
from satchel.storage import trash
from satchel.storage.database import Database
from tests.support.process import eventually

SCOPE = Scope(user="11111111-1111-4111-8111-111111111111")


def test_what_is_past_its_time_goes_by_itself(database: Database) -> None:
    with database.write(SCOPE) as tx:
        prompts.delete(tx, SCOPE, prompts.add(tx, SCOPE, PromptDraft(title="Tea", content="Boil")).id)
    database.retention = Retention(trash_days=0)

    def is_gone() -> bool:
        with database.read(SCOPE) as tx:
            return not trash.list_newest(tx, KINDS, projects=None, owner=SCOPE.user, since="", limit=9)

    assert not is_gone()
    with database.read(SCOPE) as tx:
        assert history.list_trash(tx, SCOPE) == []  # nobody sees it any more
    stop = upkeep.start(database, first=0.0)
    try:
        assert eventually(is_gone)
    finally:
        stop()
