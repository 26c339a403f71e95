"""A client of Barista that goes from replica to replica until it is answered.

Every request has a name (client_id and seq_id), and is repeated under that name when an answer is lost: so it is executed once.
What the stubs in gen/ do not do is here: trying again, NULL, transactions.
"""

import os
import re
import ssl
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gen"))

from barista import Barista  # noqa: E402
from barista.ttypes import Connection, ConnectionParams, DBException  # noqa: E402
from thrift.protocol import TBinaryProtocol  # noqa: E402
from thrift.Thrift import TException  # noqa: E402
from thrift.transport import TSocket, TTransport  # noqa: E402

# This replica cannot say now: the same request, with the same handle, at the next one.
ELSEWHERE = {"08001", "08006", "08007", "57P01", "57P02", "57P03", "57P05", "53300"}
# No replica has the session, or the next one has not.
SESSION_GONE = "08003"
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


class EncryptedSocket(TSocket.TSocket):
    """Asks whether the certificate is believed, and whose it is."""

    def __init__(self, host, port, context):
        super().__init__(host, port)
        self.context = context

    def open(self):
        super().open()
        try:
            self.handle = self.context.wrap_socket(self.handle, server_hostname=self.host)
        except BaseException:
            self.close()
            raise


class BaristaClient:
    def __init__(self, replicas, user, password, database, timeout_s=60, ca_file=None):
        """`ca_file`: certificates in PEM that are believed; without it there is no TLS."""
        self.replicas = replicas
        self.account = {"user": user, "password": password, "database": database}
        self.context = ssl.create_default_context(cafile=ca_file) if ca_file else None
        self.timeout_s = timeout_s
        self.client_id = str(uuid.uuid4())
        self.last_seq_id = 1
        self.at = 0
        self.retries = 0
        self.deadline = 0.0
        # The connection to a replica, and the handle, which may be good at the others, too.
        self.link = None
        self.con = None

    def execute(self, query, *params):
        """One statement, by itself."""
        seq_id = self._next_seq_id()
        cells = [cell_of(each) for each in params]

        def attempt():
            try:
                return Result(self._call("execute_sql", seq_id, query, cells))
            except DBException as error:
                if state_of(error) != DONE_BEFORE:
                    raise
                return Result()

        return self._insist(attempt)

    def transaction(self, work):
        """`work` is given a function that executes a statement in the transaction; it is run again as a whole when its transaction is lost."""
        commit_id = self._next_seq_id()

        def run(query, *params):
            cells = [cell_of(each) for each in params]
            return Result(self._call("execute_sql_txn", self._next_seq_id(), query, cells))

        def attempt():
            self._call("begin_txn", self._next_seq_id())
            try:
                result = work(run)
            except BaseException as error:
                if state_of(error) != SESSION_GONE:
                    self._roll_back()
                raise
            try:
                self._call("commit_txn", commit_id)
            except DBException as error:
                if state_of(error) != DONE_BEFORE:
                    raise
            return result

        return self._insist(attempt)

    def close(self):
        self.deadline = time.monotonic() + self.timeout_s
        if self.con is not None:
            try:
                self._call("close_connection", None)
            except (TException, OSError, EOFError):
                pass
        self._leave()
        self.con = None

    def _next_seq_id(self):
        self.last_seq_id += 1
        return str(self.last_seq_id)

    def _roll_back(self):
        try:
            if self.con is not None:
                self._call("rollback_txn", self._next_seq_id())
        except (TException, OSError, EOFError):
            pass

    def _insist(self, attempt):
        """Again as a whole, where nothing was done, or where it was is gone."""
        self.deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                return attempt()
            except DBException as error:
                state = state_of(error)
                # In a transaction: what it was answered is lost, and its transaction was rolled back.
                is_again = state == SESSION_GONE or state in NOT_DONE or state == DONE_BEFORE
                if not is_again or time.monotonic() > self.deadline:
                    raise
                if state == SESSION_GONE:
                    self.con = None
                self.retries += 1
                time.sleep(BETWEEN_S)

    def _call(self, method, seq_id, *rest):
        """One request, by its name and with its handle, at one replica after the other until it is answered."""
        while True:
            try:
                return self._ask(method, seq_id, rest)
            except ssl.SSLCertVerificationError:
                # Whoever answers is not whom it is to be: another attempt would not help.
                raise
            except (TException, OSError, EOFError) as error:
                state = state_of(error)
                if not (state is None or state in ELSEWHERE) or time.monotonic() > self.deadline:
                    raise
                self._leave()
                self.at += 1
                self.retries += 1
                time.sleep(BETWEEN_S)

    def _ask(self, method, seq_id, rest):
        if self.link is None:
            self.link = self._connect()
        stubs, _ = self.link
        if self.con is None:
            params = ConnectionParams(client_id=self.client_id, seq_id="1", **self.account)
            self.con = stubs.open_connection(params)
        con = self.con
        if seq_id is not None:
            con = Connection(con.client_id, seq_id, con.user, con.database)
        return getattr(stubs, method)(con, *rest)

    def _connect(self):
        host, port = self.replicas[self.at % len(self.replicas)]
        socket = TSocket.TSocket(host, port) if self.context is None else EncryptedSocket(host, port, self.context)
        socket.setTimeout(CONNECT_TIMEOUT_MS)
        transport = TTransport.TFramedTransport(socket)
        try:
            transport.open()
            # Statements may take their time.
            socket.setTimeout(None)
            return Barista.Client(TBinaryProtocol.TBinaryProtocol(transport)), transport
        except BaseException:
            transport.close()
            raise

    def _leave(self):
        if self.link is not None:
            self.link[1].close()
        self.link = None
