package barista.sample;

import barista.stubs.Barista;
import barista.stubs.Connection;
import barista.stubs.ConnectionParams;
import barista.stubs.DBException;
import barista.stubs.ResultSet;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TSSLTransportFactory;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.layered.TFramedTransport;

/**
 * A client of Barista that goes from replica to replica until it is answered. For one thread at a time.
 *
 * <p>Every request has a name (client_id and seq_id), and is repeated under that name when an answer is lost: so it is executed once. What the stubs do not do is here: trying again, NULL, transactions.
 */
public final class BaristaClient implements AutoCloseable {
  /** The session is gone, or this replica cannot serve now: another session does. */
  private static final Set<String> SESSION_GONE =
      Set.of("08001", "08003", "08006", "08007", "57P01", "57P02", "57P03", "57P05", "53300");

  /** Nothing was done: the same again. */
  private static final Set<String> NOT_DONE = Set.of("40001", "40P01");

  /** It was done before, and its rows are not kept. */
  private static final String DONE_BEFORE = "RQ001";

  private static final int CONNECT_TIMEOUT_MS = 3_000;
  private static final int BETWEEN_MS = 200;

  /** Cells are in PostgreSQL's text format, or null. `isRepeated`: it was done at an earlier attempt, whose rows are lost. */
  public record Result(int rowCount, List<List<String>> rows, List<String> names, List<String> types, boolean isRepeated) {}

  /** Executes a statement in a transaction. */
  public interface Run {
    Result run(String query, Object... params) throws TException;
  }

  public interface Work {
    void in(Run transaction) throws TException;
  }

  private interface Attempt<T> {
    T make() throws TException;
  }

  private record Session(Connection con, Barista.Client stubs, TTransport transport) {}

  private final List<String> replicas;
  private final String user;
  private final String password;
  private final String database;
  private final String trustStore;
  private final long timeoutMs = 60_000;
  private final String clientId = UUID.randomUUID().toString();
  private int lastSeqId = 1;
  private int at = 0;
  private int retries = 0;
  private Session session;

  /** `replicas`: host:port; `trustStore`: a file in PKCS #12 of the certificates that are believed, null: without TLS. */
  public BaristaClient(List<String> replicas, String user, String password, String database, String trustStore) {
    this.replicas = replicas;
    this.user = user;
    this.password = password;
    this.database = database;
    this.trustStore = trustStore;
  }

  public int retries() {
    return retries;
  }

  /** One statement, by itself. */
  public Result execute(String query, Object... params) throws TException {
    String name = nextSeqId();
    Result result = insist(() -> ask(name, query, params, false));
    return result == null ? new Result(0, List.of(), List.of(), List.of(), true) : result;
  }

  /** `work` is run again as a whole when its transaction is lost. */
  public void transaction(Work work) throws TException {
    String name = nextSeqId();
    insist(
        () -> {
          stubs().begin_txn(con(null));
          try {
            work.in((query, params) -> ask(null, query, params, true));
          } catch (TException | RuntimeException error) {
            rollBack(error);
            throw error;
          }
          stubs().commit_txn(con(name));
          return null;
        });
  }

  @Override
  public void close() {
    try {
      if (session != null) stubs().close_connection(con(null));
    } catch (TException ignored) {
      // It ends by itself.
    }
    forget();
  }

  /** The SQLSTATE, or "". */
  public static String stateOf(Exception error) {
    return error instanceof DBException told && told.getDetails() != null && told.getDetails().length() >= 5
        ? told.getDetails().substring(0, 5)
        : "";
  }

  private String nextSeqId() {
    lastSeqId += 1;
    return String.valueOf(lastSeqId);
  }

  private void rollBack(Exception why) {
    if (session == null || (why instanceof TException && !(why instanceof DBException))) return;
    try {
      stubs().rollback_txn(con(null));
    } catch (TException ignored) {
      // It has ended otherwise.
    }
  }

  /** Null: it was done before. */
  private <T> T insist(Attempt<T> attempt) throws TException {
    long deadline = System.nanoTime() + timeoutMs * 1_000_000;
    for (;;) {
      try {
        return attempt.make();
      } catch (TException error) {
        String state = stateOf(error);
        if (state.equals(DONE_BEFORE)) return null;
        boolean isGone = !(error instanceof DBException) || SESSION_GONE.contains(state);
        if (!(isGone || NOT_DONE.contains(state)) || System.nanoTime() > deadline) throw error;
        if (isGone) {
          forget();
          at += 1;
        }
        retries += 1;
        pause();
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(BETWEEN_MS);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(error);
    }
  }

  private Result ask(String name, String query, Object[] params, boolean isInTransaction) throws TException {
    List<ByteBuffer> cells = new ArrayList<>();
    for (Object param : params) cells.add(ByteBuffer.wrap(cellOf(param).getBytes(StandardCharsets.UTF_8)));
    ResultSet found =
        isInTransaction
            ? stubs().execute_sql_txn(con(name), query, cells)
            : stubs().execute_sql(con(name), query, cells);
    List<List<String>> rows = new ArrayList<>();
    for (var tuple : found.getTuples()) {
      List<String> row = new ArrayList<>();
      for (ByteBuffer cell : tuple.getCells()) row.add(valueOf(StandardCharsets.UTF_8.decode(cell).toString()));
      rows.add(row);
    }
    return new Result(found.getRow_count(), rows, found.getField_names(), found.getField_types(), false);
  }

  /** NULL travels as \N, and what looks so has one backslash more. */
  private static String cellOf(Object value) {
    if (value == null) return "\\N";
    String text = value.toString();
    return text.matches("\\\\+N") ? "\\" + text : text;
  }

  private static String valueOf(String cell) {
    if (!cell.matches("\\\\+N")) return cell;
    return cell.length() == 2 ? null : cell.substring(1);
  }

  private Barista.Client stubs() throws TException {
    if (session == null) session = open();
    return session.stubs;
  }

  /** The handle to pass, with the name of the request if it has one. */
  private Connection con(String name) throws TException {
    stubs();
    Connection con = new Connection(session.con);
    return name == null ? con : con.setSeq_id(name);
  }

  private Session open() throws TException {
    String[] place = replicas.get(at % replicas.size()).split(":");
    TTransport transport = new TFramedTransport(socketTo(place[0], Integer.parseInt(place[1])));
    try {
      if (!transport.isOpen()) transport.open();
      Barista.Client stubs = new Barista.Client(new TBinaryProtocol(transport));
      ConnectionParams params =
          new ConnectionParams()
              .setClient_id(clientId)
              .setSeq_id("1")
              .setUser(user)
              .setPassword(password)
              .setDatabase(database);
      return new Session(stubs.open_connection(params), stubs, transport);
    } catch (TException error) {
      transport.close();
      throw error;
    }
  }

  /** Statements may take their time: there is no time-out of reading. */
  private TSocket socketTo(String host, int port) throws TException {
    if (trustStore == null) {
      TSocket socket = new TSocket(host, port);
      socket.setConnectTimeout(CONNECT_TIMEOUT_MS);
      return socket;
    }
    var parameters = new TSSLTransportFactory.TSSLTransportParameters();
    parameters.setTrustStore(trustStore, "", null, "PKCS12");
    TSocket socket = TSSLTransportFactory.getClientSocket(host, port, 0, parameters);
    // Thrift's library asks whether the certificate is believed, and not whose it is.
    SSLSocket encrypted = (SSLSocket) socket.getSocket();
    SSLParameters wishes = encrypted.getSSLParameters();
    wishes.setEndpointIdentificationAlgorithm("HTTPS");
    encrypted.setSSLParameters(wishes);
    return socket;
  }

  private void forget() {
    if (session != null) session.transport.close();
    session = null;
  }
}
