package barista.sample;

import barista.stubs.Barista;
import barista.stubs.Connection;
import barista.stubs.ConnectionParams;
import barista.stubs.DBException;
import barista.stubs.ResultSet;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateException;
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
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.layered.TFramedTransport;

/**
 * A client of Barista that goes from replica to replica until it is answered. For one thread at a time.
 *
 * <p>Every request has a name (client_id and seq_id), and is repeated under that name when an answer is lost: so it is executed once. What the stubs do not do is here: trying again, NULL, transactions.
 */
public final class BaristaClient implements AutoCloseable {
  /** This replica cannot say now: the same request, with the same handle, at the next one. */
  private static final Set<String> ELSEWHERE =
      Set.of("08001", "08006", "08007", "57P01", "57P02", "57P03", "57P05", "53300");

  /** No replica has the session, or the next one has not. */
  private static final String SESSION_GONE = "08003";

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

  private interface Request<T> {
    T make(Barista.Client stubs, Connection con) throws TException;
  }

  /** Whoever answers is not whom it is to be: another attempt would not help. */
  public static final class CertificateRefused extends TException {
    private static final long serialVersionUID = 1L;

    CertificateRefused(Throwable cause) {
      super(cause);
    }
  }

  private record Link(Barista.Client stubs, TTransport transport) {}

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
  private long deadline = 0;

  /** The connection to a replica; null: there is none. */
  private Link link;

  /** The handle, which may be good at the other replicas, too. */
  private Connection handle;

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
    return insist(
        () -> {
          try {
            return ask(name, query, params, false);
          } catch (DBException error) {
            if (!stateOf(error).equals(DONE_BEFORE)) throw error;
            return new Result(0, List.of(), List.of(), List.of(), true);
          }
        });
  }

  /** `work` is run again as a whole when its transaction is lost. */
  public void transaction(Work work) throws TException {
    String commitName = nextSeqId();
    insist(
        () -> {
          end(nextSeqId(), Barista.Client::begin_txn);
          try {
            work.in((query, params) -> ask(nextSeqId(), query, params, true));
          } catch (TException | RuntimeException error) {
            rollBack(error);
            throw error;
          }
          try {
            end(commitName, Barista.Client::commit_txn);
          } catch (DBException error) {
            if (!stateOf(error).equals(DONE_BEFORE)) throw error;
          }
          return null;
        });
  }

  @Override
  public void close() {
    deadline = System.nanoTime() + timeoutMs * 1_000_000;
    try {
      if (handle != null) end(null, Barista.Client::close_connection);
    } catch (TException ignored) {
      // It ends by itself.
    }
    leave();
    handle = null;
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
    boolean isLost = why instanceof TException && !(why instanceof DBException);
    if (handle == null || isLost || stateOf(why).equals(SESSION_GONE)) return;
    try {
      end(nextSeqId(), Barista.Client::rollback_txn);
    } catch (TException ignored) {
      // It has ended otherwise.
    }
  }

  /** Again as a whole, where nothing was done, or where it was is gone. */
  private <T> T insist(Attempt<T> attempt) throws TException {
    deadline = System.nanoTime() + timeoutMs * 1_000_000;
    for (;;) {
      try {
        return attempt.make();
      } catch (DBException error) {
        String state = stateOf(error);
        // In a transaction: what it was answered is lost, and its transaction was rolled back.
        boolean isAgain = state.equals(SESSION_GONE) || state.equals(DONE_BEFORE) || NOT_DONE.contains(state);
        if (!isAgain || System.nanoTime() > deadline) throw error;
        if (state.equals(SESSION_GONE)) handle = null;
        retries += 1;
        pause();
      }
    }
  }

  /** One request, by its name and with its handle, at one replica after the other until it is answered. */
  private <T> T call(String name, Request<T> request) throws TException {
    for (;;) {
      try {
        if (link == null) link = connect();
        if (handle == null) handle = open();
        Connection con = new Connection(handle);
        return request.make(link.stubs, name == null ? con : con.setSeq_id(name));
      } catch (CertificateRefused error) {
        throw error;
      } catch (TException error) {
        boolean isElsewhere = !(error instanceof DBException) || ELSEWHERE.contains(stateOf(error));
        if (!isElsewhere || System.nanoTime() > deadline) throw error;
        leave();
        at += 1;
        retries += 1;
        pause();
      }
    }
  }

  private interface Ending {
    void make(Barista.Client stubs, Connection con) throws TException;
  }

  private void end(String name, Ending ending) throws TException {
    call(
        name,
        (stubs, con) -> {
          ending.make(stubs, con);
          return null;
        });
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
        call(
            name,
            (stubs, con) ->
                isInTransaction ? stubs.execute_sql_txn(con, query, cells) : stubs.execute_sql(con, query, cells));
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

  private Link connect() throws TException {
    String[] place = replicas.get(at % replicas.size()).split(":");
    TTransport transport = new TFramedTransport(socketTo(place[0], Integer.parseInt(place[1])));
    try {
      if (!transport.isOpen()) transport.open();
      return new Link(new Barista.Client(new TBinaryProtocol(transport)), transport);
    } catch (TException error) {
      transport.close();
      throw error;
    }
  }

  private Connection open() throws TException {
    ConnectionParams params =
        new ConnectionParams()
            .setClient_id(clientId)
            .setSeq_id("1")
            .setUser(user)
            .setPassword(password)
            .setDatabase(database);
    return link.stubs.open_connection(params);
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
    try {
      encrypted.startHandshake();
    } catch (IOException error) {
      socket.close();
      for (Throwable cause = error; cause != null; cause = cause.getCause())
        if (cause instanceof CertificateException) throw new CertificateRefused(error);
      throw new TTransportException(error);
    }
    return socket;
  }

  private void leave() {
    if (link != null) link.transport.close();
    link = null;
  }
}
