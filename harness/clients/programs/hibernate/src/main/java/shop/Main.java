package shop;

import jakarta.persistence.LockModeType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.flywaydb.core.Flyway;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** Hibernate over HikariCP and pgjdbc, with Flyway's migrations. The URL names all replicas. */
public final class Main {
  private static final int WORKERS = 4;
  private static final int COUNT = 100;
  private static final int ATTEMPTS_MAX = 100;
  private static final AtomicInteger done = new AtomicInteger();
  private static final AtomicInteger retries = new AtomicInteger();

  private static String url(Map<String, String> env) {
    String[] hosts = env.get("PGHOST").split(",");
    String[] ports = env.get("PGPORT").split(",");
    String places = IntStream.range(0, hosts.length)
        .mapToObj(i -> hosts[i] + ":" + ports[i])
        .collect(Collectors.joining(","));
    return "jdbc:postgresql://" + places + "/" + env.get("PGDATABASE") + "?targetServerType=primary&connectTimeout=10";
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> env = System.getenv();
    Flyway.configure().dataSource(url(env), env.get("PGUSER"), env.get("PGPASSWORD")).load().migrate();
    Configuration configuration = new Configuration()
        .addAnnotatedClass(Account.class)
        .addAnnotatedClass(Transfer.class)
        .setProperty("hibernate.connection.provider_class", "hikari")
        .setProperty("hibernate.connection.url", url(env))
        .setProperty("hibernate.connection.username", env.get("PGUSER"))
        .setProperty("hibernate.connection.password", env.get("PGPASSWORD"))
        .setProperty("hibernate.hikari.maximumPoolSize", String.valueOf(WORKERS));
    try (SessionFactory sessions = configuration.buildSessionFactory()) {
      sessions.inTransaction(session -> {
        for (int id = 1; id <= 10; id++) session.persist(new Account(id, 100));
      });
      ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
      List<Future<Void>> all = new ArrayList<>();
      for (int worker = 0; worker < WORKERS; worker++) all.add(workers.submit(work(sessions, worker)));
      for (Future<Void> each : all) each.get();
      workers.shutdown();
    }
    System.out.println("{\"transfers\": " + done + ", \"retries\": " + retries + "}");
  }

  private static Callable<Void> work(SessionFactory sessions, int worker) {
    return () -> {
      for (int number = worker; number < COUNT; number += WORKERS) {
        insist(sessions, number);
        if (done.incrementAndGet() == COUNT / 2) System.out.println("half");
      }
      return null;
    };
  }

  private static void insist(SessionFactory sessions, int number) throws InterruptedException {
    for (int attempt = 1; ; attempt++) {
      try {
        make(sessions, number);
        return;
      } catch (RuntimeException error) {
        if (attempt == ATTEMPTS_MAX) throw error;
        retries.incrementAndGet();
        Thread.sleep(100);
      }
    }
  }

  private static void make(SessionFactory sessions, int number) {
    int debit = 1 + number % 10;
    int credit = 1 + (number * 7 + 3) % 10;
    int amount = 1 + number % 5;
    String id = String.valueOf(number);
    sessions.inTransaction(session -> {
      if (session.find(Transfer.class, id) != null) return;
      session.persist(new Transfer(id, debit, credit, amount, "by Hibernate"));
      boolean debitFirst = debit < credit;
      change(session, debitFirst ? debit : credit, debitFirst ? -amount : amount);
      change(session, debitFirst ? credit : debit, debitFirst ? amount : -amount);
    });
  }

  private static void change(org.hibernate.Session session, int id, int by) {
    session.find(Account.class, id, LockModeType.PESSIMISTIC_WRITE).balance += by;
  }

  private Main() {}
}
