"""Tokens: create, list, revoke; and the open sessions of the user."""

from satchel.auth import sessions, tokens
from satchel.clock import parse_future
from satchel.errors import NotFound, SatchelError, WrongArgument
from satchel.page import words
from satchel.page.visit import Answer, Redirect, Shown, Visit, link
from satchel.services import projects
from satchel.storage.database import Tx


def show(visit: Visit, error: str = "", created: str = "") -> Answer:
    """Show the settings."""
    with visit.read() as tx:
        own = [one for one in tokens.listed(tx) if one.owner == visit.scope.user] if may_manage_tokens(visit) else []
        now = tx.now
        names = projects.list_names(tx, visit.scope)
        opened = sessions.list_of(tx, visit.scope.user or "")
    if _is_limited(visit):
        opened = [one for one in opened if one.id == visit.session]
    values = {"tokens": own, "now": now, "names": names, "sessions": opened, "error": error, "secret": created}
    return Shown("settings.html", values | {"may_manage": may_manage_tokens(visit)})


def create_token(visit: Visit) -> Answer:
    """Create a token for the user; its secret is shown once."""
    _check_owner(visit)
    wanted = [name for name in visit.form.get("projects", ()) if name]
    expiry = visit.field("expires").strip()

    def act(tx: Tx) -> str:
        moment = parse_future(expiry, tx.now) if expiry else None
        if expiry and moment is None:  # a typing mistake must not make a token that never expires
            raise WrongArgument("expires_at", "format", value=expiry, kind="token")
        _, secret = tokens.create(
            tx,
            user=visit.scope.user or "",
            name=visit.field("name").strip(),
            is_read_only=bool(visit.field("read_only")),
            projects=wanted or None,
            expires_at=moment,
        )
        return secret

    try:
        secret = visit.write(act)
    except SatchelError as error:
        return show(visit, error=words.explain(error))
    return show(visit, created=secret)


def revoke_token(visit: Visit) -> Answer:
    """Revoke a token of the user; its sessions end with it."""
    _check_owner(visit)
    visit.write(lambda tx: tokens.revoke(tx, visit.path["id"], visit.scope.user))
    return Redirect(link("settings"), "The token is revoked, and its sessions have ended.")


def end_session(visit: Visit) -> Answer:
    """End a session of the user; a caller with limited rights can end only their own."""
    id = visit.path["id"]
    if not _is_limited(visit) or id == visit.session:
        # Not `visit.write`, because a read-only caller may log out, too.
        sessions.BrowserSessions(visit.server.database).end(id, visit.scope.user or "")
    return Redirect(link("settings"), "The session has ended.")


def may_manage_tokens(visit: Visit) -> bool:
    """Return whether the caller may manage tokens: the owner of the store may, a caller with limited rights may not."""
    return not _is_limited(visit) and not visit.server.database.has_row_security


def _is_limited(visit: Visit) -> bool:
    return visit.scope.projects is not None or visit.is_read_only


def _check_owner(visit: Visit) -> None:
    if not may_manage_tokens(visit):
        raise NotFound("page", "tokens", visit.scope)
