"""A connection that sends statements through libpq itself: several in one round trip, prepared where they come again.

psycopg connects, cancels, and converts values, as it does for its own cursors. What we leave out is the cursor, which
costs three times what the rest does, and its round trips of their own for BEGIN and COMMIT.
"""

import re
import select
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import count
from typing import Any

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from satchel.storage.database import Row

# A statement with `:name` parameters, their values, and whether it may be prepared.
Statement = tuple[str, Mapping[str, object], bool]

_PREPARED_FROM = 2  # uses on a connection; many texts, those with lists in them, come once only
_MOST_PREPARED = 100  # statements on a connection; each takes some 10 KB on the server
_MOST_COUNTED = 300  # statements whose uses are counted
_CANCEL_TIMEOUT = 2.0  # seconds for telling the server that a query is to be cancelled
COMMIT: Statement = ("commit", {}, True)

_Key = tuple[bytes, tuple[int, ...]]  # a text, and the types of its parameters: together they are one statement
Sent = list[_Key | None]  # what is to be received: for a statement, or for what only prepares one


class Connection(psycopg.Connection[Any]):
    """A connection of psycopg, and the statements on it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.statements = Statements(self)


class Statements:
    """The statements on one connection, which one thread at a time uses."""

    def __init__(self, connection: Connection) -> None:
        self.may_prepare = True  # but not behind a pooler
        self.pending: list[Statement] = []  # whose results are not awaited: sent with the next statement
        self.connection = connection
        self._pgconn = connection.pgconn
        self._values = Transformer(connection)
        self._poll = select.poll()
        self._poll.register(self._pgconn.socket, select.POLLIN)
        self._names = (b"satchel_%d" % number for number in count())
        self._uses: dict[_Key, int] = {}
        self._prepared: OrderedDict[_Key, bytes] = OrderedDict()  # their names; the last used at the end
        self._preparing: dict[_Key, bytes] = {}  # those of the statements that are sent now
        self._useless: list[bytes] = []  # names that are not used any more
        self._ending: Sent | None = None  # a COMMIT that was not waited for

    def run(self, sql: str, values: Mapping[str, object], *, may_prepare: bool = True) -> list[Row]:
        """Execute a statement."""
        return self.run_all([(sql, values, may_prepare)])[0]

    def run_all(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Execute some statements in one round trip, in their order. After one that fails, no other is executed.

        Raises:
            psycopg.Error: the first failure.
        """
        results = self.exchange(statements)
        rows = [self.read_rows(result) for result in results]
        return rows[len(rows) - len(statements) :]

    def exchange(self, statements: Sequence[Statement]) -> list[PGresult | None]:
        """Send some statements behind the pending ones; the result of each, and None for those that were not executed.

        Raises:
            psycopg.Error: the connection was lost, and the server did not say why.
        """
        pending, self.pending = self.pending, []
        return self._receive(self.send([*pending, *statements]))

    def end_read(self) -> None:
        """Commit a transaction that changed nothing, and do not wait for it: who uses the connection next does."""
        self.pending = []
        if self._pgconn.transaction_status == TransactionStatus.INTRANS:
            self._ending = self.send([COMMIT])
            self._pgconn.flush()

    def is_unusable(self) -> bool:
        """Whether it is closed, or the server sent something unasked, which nearly always means the same.

        This costs no query. A mere notice is not told apart: the price is one new connection.
        """
        if self._ending is not None:
            ending, self._ending = self._ending, None
            with suppress(psycopg.Error):
                self._receive(ending)
        return self.connection.closed or bool(self._poll.poll(0))

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open, or the last one is ending by itself."""
        return self._ending is not None or self._pgconn.transaction_status == TransactionStatus.IDLE

    def send(self, statements: Sequence[Statement]) -> Sent:
        """Have some statements sent in one pipeline with the next `flush`; what is to be received for them."""
        sent: Sent = []
        found = [(self._convert(sql, values), may_prepare) for sql, values, may_prepare in statements]
        pgconn = self._pgconn
        # Outside of a transaction. Before a BEGIN, what is sent would be the first query of that one.
        is_alone = pgconn.transaction_status == TransactionStatus.IDLE and not statements[0][0].startswith("begin")
        pgconn.enter_pipeline_mode()
        for (key, values, formats), may_prepare in found:
            name = self._find_name(key, sent) if may_prepare and self.may_prepare else None
            if name is None:
                pgconn.send_query_params(key[0], values, key[1], formats)
            else:
                pgconn.send_query_prepared(name, values, formats)
            sent.append(None)
        if self._useless and (statements[-1] == COMMIT or is_alone):
            sent += [(b"", ())] * len(self._useless)
            while self._useless:
                pgconn.send_query_params(b"deallocate " + self._useless.pop(), None)
        pgconn.pipeline_sync()
        return sent

    def _convert(self, sql: str, values: Mapping[str, object]) -> tuple[_Key, Any, Any]:
        text, names, kinds = _number_parameters(sql)
        if not names:
            return (text, ()), None, None
        converted = self._values.dump_sequence([values[name] for name in names], kinds)
        return (text, self._values.types or ()), converted, self._values.formats

    def _find_name(self, key: _Key, sent: Sent) -> bytes | None:
        """The name of a prepared statement; it is prepared now if it has come often enough."""
        name = self._prepared.get(key) or self._preparing.get(key)
        if name is not None:
            if key in self._prepared:
                self._prepared.move_to_end(key)
            return name
        if len(self._uses) >= _MOST_COUNTED:
            self._uses.clear()
        self._uses[key] = uses = self._uses.get(key, 0) + 1
        if uses < _PREPARED_FROM:
            return None
        name = self._preparing[key] = next(self._names)
        self._pgconn.send_prepare(name, key[0], key[1])
        sent.append(key)
        return name

    def _receive(self, sent: Sent) -> list[PGresult | None]:
        """The results of what was sent, after which psycopg can use the connection, too."""
        try:
            received = self._receive_all(len(sent))
        except BaseException as error:
            if not isinstance(error, psycopg.Error):  # we were interrupted, and the statement goes on
                with suppress(psycopg.Error):
                    self.connection.cancel_safe(timeout=_CANCEL_TIMEOUT)
            self.connection.close()
            raise
        return self.sort_results(sent, received)

    def sort_results(self, sent: Sent, received: Sequence[PGresult | None]) -> list[PGresult | None]:
        """Of all that was received for what was sent, the result of each statement."""
        results: list[PGresult | None] = []
        failure = None
        for key, result in zip(sent, received, strict=True):
            if key is None:
                results.append(failure or result)
                failure = None
                continue
            name = self._preparing.pop(key, None)
            if _is_failure(result):
                failure = result  # of the statement that was to be prepared
            elif name is not None and result is not None:
                self._keep_prepared(key, name)
        return results

    def _keep_prepared(self, key: _Key, name: bytes) -> None:
        self._prepared[key] = name
        self._uses.pop(key, None)
        if len(self._prepared) > _MOST_PREPARED:
            self._useless.append(self._prepared.popitem(last=False)[1])

    def _receive_all(self, count: int) -> list[PGresult | None]:
        pgconn = self._pgconn
        received: list[PGresult | None] = []
        while pgconn.flush():
            self._poll.modify(pgconn.socket, select.POLLIN | select.POLLOUT)
            self._poll.poll()
            self._poll.modify(pgconn.socket, select.POLLIN)
            pgconn.consume_input()  # else both sides could wait for the other to read
        while True:
            while pgconn.is_busy():
                self._poll.poll()
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:  # between two statements
                if pgconn.status == ConnStatus.BAD:
                    break
            elif result.status == ExecStatus.PIPELINE_SYNC:
                pgconn.exit_pipeline_mode()
                return received
            else:
                received.append(None if result.status == ExecStatus.PIPELINE_ABORTED else result)
        # The server may have said why, as it does when it shuts down.
        if len(received) < count and not any(map(_is_failure, received)):
            raise psycopg.OperationalError(pgconn.get_error_message())
        return received + [None] * (count - len(received))

    def read_rows(self, result: PGresult | None) -> list[Row]:
        """The rows of a result; raises its error where the statement failed."""
        check(result)
        if result is None or result.status != ExecStatus.TUPLES_OK:
            return []
        self._values.set_pgresult(result)
        rows = self._values.load_rows(0, result.ntuples, tuple)
        self._values.set_pgresult(None)  # which may be large
        return rows


def check(result: PGresult | None) -> None:
    """Raise the error of a statement that failed."""
    if result is not None and _is_failure(result):
        raise error_from_result(result)


def _is_failure(result: PGresult | None) -> bool:
    return result is not None and result.status == ExecStatus.FATAL_ERROR


@lru_cache(maxsize=512)
def _number_parameters(sql: str) -> tuple[bytes, tuple[str, ...], list[PyFormat]]:
    """A statement as PostgreSQL has it, with the names of its parameters in the order of their numbers."""
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"${names.setdefault(found[1], len(names) + 1)}"

    text = re.sub(r"(?<!:):(\w+)", number, sql.replace("instr(", "strpos("))
    return text.encode(), tuple(names), [PyFormat.AUTO] * len(names)
