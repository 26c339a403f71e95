"""Django's ORM and migrations. HOST and PORT may be lists, as libpq has them."""

import json
import os
import threading
import time

import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=["shop"],
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": os.environ["PGHOST"],
            "PORT": os.environ["PGPORT"],
            "USER": os.environ["PGUSER"],
            "PASSWORD": os.environ["PGPASSWORD"],
            "NAME": os.environ["PGDATABASE"],
            "CONN_MAX_AGE": None,
            "OPTIONS": {"connect_timeout": 10},
        }
    },
)
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import Error, connection, transaction  # noqa: E402
from django.db.models import F  # noqa: E402
from shop.models import Account, Transfer  # noqa: E402

WORKERS, COUNT, ATTEMPTS_MAX = 4, 100, 100
lock = threading.Lock()
told = {"transfers": 0, "retries": 0}


def make(number):
    debit, credit, amount = 1 + number % 10, 1 + (number * 7 + 3) % 10, 1 + number % 5
    with transaction.atomic():
        values = {"debit_id": debit, "credit_id": credit, "amount": amount, "note": "by Django"}
        _, created = Transfer.objects.get_or_create(id=str(number), defaults=values)
        if created:
            for account, by in sorted([(debit, -amount), (credit, amount)]):
                Account.objects.filter(id=account).update(balance=F("balance") + by)


def work(worker):
    for number in range(worker, COUNT, WORKERS):
        for attempt in range(ATTEMPTS_MAX):
            try:
                make(number)
                break
            except Error:
                # Django opens it anew; without requests nobody else does.
                connection.close()
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


call_command("migrate", verbosity=0)
Account.objects.bulk_create([Account(id=number, balance=100) for number in range(1, 11)])
threads = [threading.Thread(target=work, args=(worker,)) for worker in range(WORKERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(told))
