package barista.sample;

import java.util.List;

/**
 * Counts to forty: each number by a statement of its own, and a sum that a transaction raises. Kill the leader meanwhile.
 *
 * <p>BARISTA_REPLICAS=127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002 java -cp 'gen/target/classes:gen/lib/*' barista.sample.Sample
 */
public final class Sample {
  private static final int STEPS = 40;

  private Sample() {}

  private static String setting(String name, String otherwise) {
    String value = System.getenv(name);
    return value == null ? otherwise : value;
  }

  private static void half() {
    System.out.println("half");
    try {
      Thread.sleep(500);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  public static void main(String[] arguments) throws Exception {
    String table = setting("BARISTA_TABLE", "sample_java");
    List<String> replicas =
        List.of(setting("BARISTA_REPLICAS", "127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002").split(","));
    int answerTimeoutMs = Integer.parseInt(setting("BARISTA_ANSWER_TIMEOUT_MS", "20000"));
    try (var client =
        new BaristaClient(replicas, "barista", "barista", "barista", System.getenv("BARISTA_CA"), answerTimeoutMs)) {
      client.execute("CREATE TABLE IF NOT EXISTS " + table + " (n int, note text)");
      client.execute("CREATE TABLE IF NOT EXISTS " + table + "_sum (total int)");
      client.execute("INSERT INTO " + table + "_sum VALUES (0)");
      int[] begun = {0};
      for (int n = 1; n <= STEPS; n += 1) {
        int step = n;
        client.execute("INSERT INTO " + table + " VALUES ($1, $2)", n, n % 2 == 0 ? null : "\\N");
        client.transaction(
            run -> {
              begun[0] += 1;
              String total = run.run("SELECT total FROM " + table + "_sum FOR UPDATE").rows().get(0).get(0);
              if (step == STEPS / 2) half();
              run.run("UPDATE " + table + "_sum SET total = $1", Integer.parseInt(total) + step);
            });
        Thread.sleep(25);
      }
      var own =
          client.execute(
              "SELECT count(*), count(DISTINCT n), count(note), max(note), (SELECT max(total) FROM " + table + "_sum) FROM " + table);
      System.out.println(String.join(" ", own.rows().get(0)));
      System.out.println("{\"steps\": " + STEPS + ", \"retries\": " + client.retries() + ", \"begun\": " + begun[0] + "}");
    }
  }
}
