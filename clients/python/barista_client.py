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
# Of these, the ones that say that the request was not executed.
NOT_EXECUTED = {"08001", "57P03", "57P05", "53300"}
# No replica has the session, or the next one has not; names of requests are known all the same.
SESSION_GONE = "08003"
# No replica has the session, and its names are gone with it.
NAMES_GONE = "RQ002"
OUTCOME_UNKNOWN = "08007"
# Nothing was done: the same again.
NOT_DONE = {"40001", "40P01"}
# It was done before, and its rows are not kept.
DONE_BEFORE = "RQ001"
# For connecting, with TLS, and until the replica says its version: one that is frozen does not.
CONNECT_TIMEOUT_MS = 3_000
BETWEEN_S = 0.2


def state_of(error):
    """The SQLSTATE, or None."""
    return (error.details or "")[:5] if isinstance(error, DBException) else None


def unknown(why):
    """An earlier attempt may have taken effect, and nobody knows any more."""
    message = "it is not known whether the request took effect"
    return DBException(int(OUTCOME_UNKNOWN, 36), message, f"{OUTCOME_UNKNOWN}\nDETAIL: {getattr(why, 'message', None) or why}")


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
    def __init__(self, replicas, user, password, database, timeout_s=60, ca_file=None, answer_timeout_s=20):
        """`ca_file`: certificates in PEM that are believed; without it there is no TLS. `timeout_s`: for how long a request is tried; `answer_timeout_s`: so long an answer of one replica is waited for."""
        self.replicas = replicas
        self.account = {"user": user, "password": password, "database": database}
        self.context = ssl.create_default_context(cafile=ca_file) if ca_file else None
        self.timeout_s = timeout_s
        self.answer_timeout_s = answer_timeout_s
        self.client_id = str(uuid.uuid4())
        self.last_seq_id = 1
        self.at = 0
        self.retries = 0
        self.deadline = 0.0
        # The connection to a replica, and the handle, which may be good at the others, too.
        self.link = None
        self.con = None
        # The request itself was sent: what becomes of it is unknown until it is answered.
        self.is_asked = False

    def execute(self, query, *params):
        """One statement, by itself."""
        seq_id = self._next_seq_id()
        cells = [cell_of(each) for each in params]

        def attempt():
            try:
                return Result(self._effect("execute_sql", seq_id, query, cells))
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
                if state_of(error) not in (SESSION_GONE, NAMES_GONE):
                    self._roll_back()
                raise
            try:
                self._effect("commit_txn", commit_id)
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
                is_gone = state in (SESSION_GONE, NAMES_GONE)
                is_again = is_gone or state in NOT_DONE or state == DONE_BEFORE
                if not is_again or time.monotonic() > self.deadline:
                    raise
                if is_gone:
                    self.con = None
                self.retries += 1
                time.sleep(BETWEEN_S)

    def _call(self, method, seq_id, *rest):
        """One request, by its name and with its handle, at one replica after the other until it is answered."""
        return self._attempts(False, method, seq_id, rest)

    def _effect(self, method, seq_id, *rest):
        """One that takes effect by itself: where it may have, and that is not to be found out any more, it fails with 08007 and is not repeated."""
        return self._attempts(True, method, seq_id, rest)

    def _attempts(self, takes_effect, method, seq_id, rest):
        is_unsure = False
        while True:
            try:
                return self._ask(method, seq_id, rest)
            except ssl.SSLCertVerificationError:
                # Whoever answers is not whom it is to be: another attempt would not help.
                raise
            except (TException, OSError, EOFError) as error:
                state = state_of(error)
                is_elsewhere = state is None or state in ELSEWHERE
                is_unsure = is_unsure or (self.is_asked and is_elsewhere and state not in NOT_EXECUTED)
                if not is_elsewhere or time.monotonic() > self.deadline:
                    if takes_effect and is_unsure and (is_elsewhere or state == NAMES_GONE):
                        raise unknown(error) from error
                    raise
                self._leave()
                self.at += 1
                self.retries += 1
                time.sleep(BETWEEN_S)

    def _ask(self, method, seq_id, rest):
        self.is_asked = False
        if self.link is None:
            self.link = self._connect()
        stubs, _ = self.link
        if self.con is None:
            params = ConnectionParams(client_id=self.client_id, seq_id="1", **self.account)
            self.con = stubs.open_connection(params)
        con = self.con
        if seq_id is not None:
            con = Connection(con.client_id, seq_id, con.user, con.database)
        self.is_asked = True
        return getattr(stubs, method)(con, *rest)

    def _connect(self):
        host, port = self.replicas[self.at % len(self.replicas)]
        socket = TSocket.TSocket(host, port) if self.context is None else EncryptedSocket(host, port, self.context)
        socket.setTimeout(CONNECT_TIMEOUT_MS)
        transport = TTransport.TFramedTransport(socket)
        try:
            transport.open()
            stubs = Barista.Client(TBinaryProtocol.TBinaryProtocol(transport))
            stubs.get_version()
            socket.setTimeout(self.answer_timeout_s * 1000)
            return stubs, transport
        except BaseException:
            transport.close()
            raise

    def _leave(self):
        if self.link is not None:
            self.link[1].close()
        self.link = None
