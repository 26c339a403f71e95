"""A client of Barista that goes from replica to replica until it is answered.

Every request has a name (client_id and seq_id), and is repeated under that name when an answer is lost: so it is executed once.
What the stubs in gen/ do not do is here: trying again, NULL, transactions.
"""

import os
import re
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gen"))

from barista import Barista  # noqa: E402
from barista.ttypes import Connection, ConnectionParams, DBException  # noqa: E402
from thrift.protocol import TBinaryProtocol  # noqa: E402
from thrift.Thrift import TException  # noqa: E402
from thrift.transport import TSocket, TTransport  # noqa: E402

# The session is gone, or this replica cannot serve now: another session does.
SESSION_GONE = {"08001", "08003", "08006", "08007", "57P01", "57P02", "57P03", "57P05", "53300"}
# Nothing was done: the same again.
NOT_DONE = {"40001", "40P01"}
# It was done before, and its rows are not kept.
DONE_BEFORE = "RQ001"
CONNECT_TIMEOUT_MS = 3_000
BETWEEN_S = 0.2


def state_of(error):
    """The SQLSTATE, or None."""
    return (error.details or "")[:5] if isinstance(error, DBException) else None


def cell_of(value):
    """NULL travels as \\N, and what looks so has one backslash more."""
    if value is None:
        return b"\\N"
    text = value if isinstance(value, bytes) else str(value).encode()
    return b"\\" + text if re.fullmatch(rb"\\+N", text) else text


def value_of(cell):
    if not re.fullmatch(rb"\\+N", cell):
        return cell
    return None if len(cell) == 2 else cell[1:]


class Result:
    """Rows are lists of bytes or None; is_repeated: it was done at an earlier attempt, whose rows are lost."""

    def __init__(self, found=None):
        self.is_repeated = found is None
        self.row_count = 0 if found is None else found.row_count
        self.names = [] if found is None else found.field_names
        self.types = [] if found is None else found.field_types
        self.rows = [] if found is None else [[value_of(cell) for cell in row.cells] for row in found.tuples]


class BaristaClient:
    def __init__(self, replicas, user, password, database, timeout_s=60):
        self.replicas = replicas
        self.account = {"user": user, "password": password, "database": database}
        self.timeout_s = timeout_s
        self.client_id = str(uuid.uuid4())
        self.last_seq_id = 1
        self.at = 0
        self.retries = 0
        self.session = None

    def execute(self, query, *params):
        """One statement, by itself."""
        seq_id = self._next_seq_id()
        cells = [cell_of(each) for each in params]
        return self._insist(lambda: Result(self._call("execute_sql", seq_id, query, cells)))

    def transaction(self, work):
        """`work` is given a function that executes a statement in the transaction; it is run again as a whole when its transaction is lost."""
        seq_id = self._next_seq_id()

        def run(query, *params):
            return Result(self._call("execute_sql_txn", None, query, [cell_of(each) for each in params]))

        def attempt():
            self._call("begin_txn", None)
            try:
                result = work(run)
            except BaseException:
                self._roll_back()
                raise
            self._call("commit_txn", seq_id)
            return result

        return self._insist(attempt)

    def close(self):
        if self.session is not None:
            try:
                self._call("close_connection", None)
            except TException:
                pass
        self._forget()

    def _next_seq_id(self):
        self.last_seq_id += 1
        return str(self.last_seq_id)

    def _roll_back(self):
        try:
            if self.session is not None:
                self._call("rollback_txn", None)
        except TException:
            pass

    def _insist(self, attempt):
        deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                return attempt()
            except (TException, OSError, EOFError) as error:
                state = state_of(error)
                if state == DONE_BEFORE:
                    return Result()
                is_gone = state is None or state in SESSION_GONE
                if not (is_gone or state in NOT_DONE) or time.monotonic() > deadline:
                    raise
                if is_gone:
                    self._forget()
                    self.at += 1
                self.retries += 1
                time.sleep(BETWEEN_S)

    def _call(self, method, seq_id, *rest):
        if self.session is None:
            self.session = self._open()
        con, stubs, _ = self.session
        if seq_id is not None:
            con = Connection(con.client_id, seq_id, con.user, con.database)
        return getattr(stubs, method)(con, *rest)

    def _open(self):
        host, port = self.replicas[self.at % len(self.replicas)]
        socket = TSocket.TSocket(host, port)
        socket.setTimeout(CONNECT_TIMEOUT_MS)
        transport = TTransport.TFramedTransport(socket)
        stubs = Barista.Client(TBinaryProtocol.TBinaryProtocol(transport))
        try:
            transport.open()
            # Statements may take their time.
            socket.setTimeout(None)
            params = ConnectionParams(client_id=self.client_id, seq_id="1", **self.account)
            return stubs.open_connection(params), stubs, transport
        except BaseException:
            transport.close()
            raise

    def _forget(self):
        if self.session is not None:
            self.session[2].close()
        self.session = None
