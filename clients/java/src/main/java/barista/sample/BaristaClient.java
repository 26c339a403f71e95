package barista.sample;

import barista.stubs.Barista;
import barista.stubs.Connection;
import barista.stubs.ConnectionParams;
import barista.stubs.DBException;
import barista.stubs.ResultSet;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
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

  /** Of these, the ones that say that the request was not executed. */
  private static final Set<String> NOT_EXECUTED = Set.of("08001", "57P03", "57P05", "53300");

  /** No replica has the session, or the next one has not; names of requests are known all the same. */
  private static final String SESSION_GONE = "08003";

  /** No replica has the session, and its names are gone with it. */
  private static final String NAMES_GONE = "RQ002";

  private static final String OUTCOME_UNKNOWN = "08007";

  /** Nothing was done: the same again. */
  private static final Set<String> NOT_DONE = Set.of("40001", "40P01");

  /** It was done before, and its rows are not kept. */
  private static final String DONE_BEFORE = "RQ001";

  /** For connecting, with TLS, and until the replica says its version: one that is frozen does not. */
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

  /** What a request does when it has been answered for good or ill. */
  private enum Kind {
    /** Nothing is left of it without its transaction, or it is done anew. */
    PART,
    /** It takes effect by itself. */
    EFFECT
  }

  private final List<String> replicas;
  private final String user;
  private final String password;
  private final String database;
  private final String trustStore;
  private final long timeoutMs = 60_000;
  private final int answerTimeoutMs;
  private final String clientId = UUID.randomUUID().toString();
  private int lastSeqId = 1;
  private int at = 0;
  private int retries = 0;
  private long deadline = 0;

  /** The connection to a replica; null: there is none. */
  private Link link;

  /** The handle, which may be good at the other replicas, too. */
  private Connection handle;

  /** The request itself was sent: what becomes of it is unknown until it is answered. */
  private boolean isAsked = false;

  /**
   * `replicas`: host:port; `trustStore`: a file in PKCS #12 of the certificates that are believed, null: without TLS; `answerTimeoutMs`: so long an answer of one
   * replica is waited for.
   */
  public BaristaClient(
      List<String> replicas, String user, String password, String database, String trustStore, int answerTimeoutMs) {
    this.replicas = replicas;
    this.user = user;
    this.password = password;
    this.database = database;
    this.trustStore = trustStore;
    this.answerTimeoutMs = answerTimeoutMs;
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
          end(nextSeqId(), Kind.PART, Barista.Client::begin_txn);
          try {
            work.in((query, params) -> ask(nextSeqId(), query, params, true));
          } catch (TException | RuntimeException error) {
            rollBack(error);
            throw error;
          }
          try {
            end(commitName, Kind.EFFECT, Barista.Client::commit_txn);
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
      if (handle != null) end(null, Kind.PART, Barista.Client::close_connection);
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

  private static boolean isGone(String state) {
    return state.equals(SESSION_GONE) || state.equals(NAMES_GONE);
  }

  /** An earlier attempt may have taken effect, and nobody knows any more. */
  private static DBException unknown(TException why) {
    DBException error =
        new DBException()
            .setErrorCode(Integer.parseInt(OUTCOME_UNKNOWN, 36))
            .setMessage("it is not known whether the request took effect")
            .setDetails(OUTCOME_UNKNOWN + "\nDETAIL: " + why.getMessage());
    error.initCause(why);
    return error;
  }

  private void rollBack(Exception why) {
    boolean isLost = why instanceof TException && !(why instanceof DBException);
    if (handle == null || isLost || isGone(stateOf(why))) return;
    try {
      end(nextSeqId(), Kind.PART, Barista.Client::rollback_txn);
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
        boolean isAgain = isGone(state) || state.equals(DONE_BEFORE) || NOT_DONE.contains(state);
        if (!isAgain || System.nanoTime() > deadline) throw error;
        if (isGone(state)) handle = null;
        retries += 1;
        pause();
      }
    }
  }

  /**
   * One request, by its name and with its handle, at one replica after the other until it is answered. One that takes effect by itself fails with 08007, and is not
   * repeated, where it may have and that is not to be found out any more.
   */
  private <T> T call(String name, Kind kind, Request<T> request) throws TException {
    boolean isUnsure = false;
    for (;;) {
      try {
        isAsked = false;
        if (link == null) link = connect();
        if (handle == null) handle = open();
        Connection con = new Connection(handle);
        isAsked = true;
        return request.make(link.stubs, name == null ? con : con.setSeq_id(name));
      } catch (CertificateRefused error) {
        throw error;
      } catch (TException error) {
        String state = stateOf(error);
        boolean isElsewhere = !(error instanceof DBException) || ELSEWHERE.contains(state);
        isUnsure |= isAsked && isElsewhere && !NOT_EXECUTED.contains(state);
        boolean isOver = !isElsewhere || System.nanoTime() > deadline;
        if (isOver && kind == Kind.EFFECT && isUnsure && (isElsewhere || state.equals(NAMES_GONE))) throw unknown(error);
        if (isOver) throw error;
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

  private void end(String name, Kind kind, Ending ending) throws TException {
    call(
        name,
        kind,
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
            isInTransaction ? Kind.PART : Kind.EFFECT,
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
    TSocket socket = socketTo(place[0], Integer.parseInt(place[1]));
    try {
      TTransport transport = new TFramedTransport(socket);
      if (!transport.isOpen()) transport.open();
      var stubs = new Barista.Client(new TBinaryProtocol(transport));
      stubs.get_version();
      socket.setSocketTimeout(answerTimeoutMs);
      return new Link(stubs, transport);
    } catch (TException error) {
      socket.close();
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

  private TSocket socketTo(String host, int port) throws TException {
    if (trustStore == null) {
      TSocket socket = new TSocket(host, port);
      socket.setConnectTimeout(CONNECT_TIMEOUT_MS);
      socket.setSocketTimeout(CONNECT_TIMEOUT_MS);
      return socket;
    }
    // Thrift's library waits for connections without end, and asks whether a certificate is believed, but not whose it is.
    Socket plain = new Socket();
    try {
      plain.connect(new InetSocketAddress(host, port), CONNECT_TIMEOUT_MS);
      plain.setSoTimeout(CONNECT_TIMEOUT_MS);
      SSLSocket encrypted = (SSLSocket) believing().createSocket(plain, host, port, true);
      SSLParameters wishes = encrypted.getSSLParameters();
      wishes.setEndpointIdentificationAlgorithm("HTTPS");
      encrypted.setSSLParameters(wishes);
      encrypted.startHandshake();
      return new TSocket(encrypted);
    } catch (IOException error) {
      closeQuietly(plain);
      for (Throwable cause = error; cause != null; cause = cause.getCause())
        if (cause instanceof CertificateException) throw new CertificateRefused(error);
      throw new TTransportException(error);
    }
  }

  /** Of certificates in the trust store alone. */
  private SSLSocketFactory believing() throws IOException {
    try (var file = new FileInputStream(trustStore)) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(file, new char[0]);
      var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, managers.getTrustManagers(), null);
      return context.getSocketFactory();
    } catch (GeneralSecurityException error) {
      throw new IllegalArgumentException(trustStore + " cannot be read", error);
    }
  }

  private static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException ignored) {
      // It is of no use any more.
    }
  }

  private void leave() {
    if (link != null) link.transport.close();
    link = null;
  }
}
