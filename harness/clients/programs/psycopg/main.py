"""psycopg 3, with plain SQL. libpq reads PGHOST and PGPORT, which may be lists."""

import json
import threading
import time

import psycopg

WORKERS, COUNT, ATTEMPTS_MAX = 4, 100, 100
lock = threading.Lock()
told = {"transfers": 0, "retries": 0}


def setup():
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)")
        connection.execute(
            "CREATE TABLE transfer (id text PRIMARY KEY, debit int REFERENCES account,"
            " credit int REFERENCES account, amount int)"
        )
        connection.execute("ALTER TABLE transfer ADD COLUMN note text")
        with connection.cursor().copy("COPY account FROM STDIN") as copy:
            for number in range(1, 11):
                copy.write_row((number, 100))


def make(connection, number):
    debit, credit, amount = 1 + number % 10, 1 + (number * 7 + 3) % 10, 1 + number % 5
    with connection.transaction():
        made = connection.execute(
            "INSERT INTO transfer VALUES (%s, %s, %s, %s, 'by psycopg') ON CONFLICT DO NOTHING",
            (str(number), debit, credit, amount),
        )
        if made.rowcount == 1:
            for account, by in sorted([(debit, -amount), (credit, amount)]):
                connection.execute("UPDATE account SET balance = balance + %s WHERE id = %s", (by, account))


def work(worker):
    connection = None
    for number in range(worker, COUNT, WORKERS):
        for attempt in range(ATTEMPTS_MAX):
            try:
                if connection is None or connection.closed:
                    connection = psycopg.connect(autocommit=True, connect_timeout=10)
                make(connection, number)
                break
            except psycopg.OperationalError:
                # 40001, 40P01, 57P01, 08007 and a lost connection are all of this class.
                if attempt == ATTEMPTS_MAX - 1:
                    raise
                with lock:
                    told["retries"] += 1
                time.sleep(0.1)
        with lock:
            told["transfers"] += 1
            if told["transfers"] == COUNT // 2:
                print("half", flush=True)
    connection.close()


setup()
threads = [threading.Thread(target=work, args=(worker,)) for worker in range(WORKERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(told))
