"""Counts to forty: each number by a statement of its own, and a sum that a transaction raises. Kill the leader meanwhile.

BARISTA_REPLICAS=127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002 python3 sample.py
"""

import json
import os
import time

from barista_client import BaristaClient

STEPS = 40
TABLE = os.environ.get("BARISTA_TABLE", "sample_python")
PLACES = os.environ.get("BARISTA_REPLICAS", "127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002")
REPLICAS = [(host, int(port)) for host, port in (place.split(":") for place in PLACES.split(","))]


def main():
    client = BaristaClient(
        REPLICAS,
        user="barista",
        password="barista",
        database="barista",
        ca_file=os.environ.get("BARISTA_CA"),
        answer_timeout_s=int(os.environ.get("BARISTA_ANSWER_TIMEOUT_MS", "20000")) / 1000,
    )
    client.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} (n int, note text)")
    client.execute(f"CREATE TABLE IF NOT EXISTS {TABLE}_sum (total int)")
    client.execute(f"INSERT INTO {TABLE}_sum VALUES (0)")
    begun = 0
    for n in range(1, STEPS + 1):
        client.execute(f"INSERT INTO {TABLE} VALUES ($1, $2)", n, None if n % 2 == 0 else "\\N")

        def add(run, n=n):
            nonlocal begun
            begun += 1
            total = int(run(f"SELECT total FROM {TABLE}_sum FOR UPDATE").rows[0][0])
            if n == STEPS // 2:
                print("half", flush=True)
                time.sleep(0.5)
            run(f"UPDATE {TABLE}_sum SET total = $1", total + n)

        client.transaction(add)
        time.sleep(0.025)
    counts = f"count(*), count(DISTINCT n), count(note), max(note), (SELECT max(total) FROM {TABLE}_sum)"
    print(*(cell.decode() for cell in client.execute(f"SELECT {counts} FROM {TABLE}").rows[0]))
    client.close()
    print(json.dumps({"steps": STEPS, "retries": client.retries, "begun": begun}))


if __name__ == "__main__":
    main()
