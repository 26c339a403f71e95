"""SQLAlchemy's ORM, with Alembic's migrations. The URL names no host: libpq reads PGHOST and PGPORT, which may be lists."""

import json
import os
import threading
import time

from alembic import command
from alembic.config import Config
from sqlalchemy import ForeignKey, create_engine, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

WORKERS, COUNT, ATTEMPTS_MAX = 4, 100, 100
lock = threading.Lock()
told = {"transfers": 0, "retries": 0}


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "account"
    id: Mapped[int] = mapped_column(primary_key=True)
    balance: Mapped[int]


class Transfer(Base):
    __tablename__ = "transfer"
    id: Mapped[str] = mapped_column(primary_key=True)
    debit: Mapped[int] = mapped_column(ForeignKey("account.id"))
    credit: Mapped[int] = mapped_column(ForeignKey("account.id"))
    amount: Mapped[int]
    note: Mapped[str]


engine = create_engine("postgresql+psycopg://", pool_size=WORKERS, pool_pre_ping=True)


def setup():
    config = Config()
    config.set_main_option("script_location", os.path.dirname(os.path.abspath(__file__)))
    command.upgrade(config, "head")
    with Session(engine) as session, session.begin():
        session.add_all(Account(id=number, balance=100) for number in range(1, 11))


def make(number):
    debit, credit, amount = 1 + number % 10, 1 + (number * 7 + 3) % 10, 1 + number % 5
    with Session(engine) as session, session.begin():
        if session.get(Transfer, str(number)) is not None:
            return
        session.add(Transfer(id=str(number), debit=debit, credit=credit, amount=amount, note="by SQLAlchemy"))
        for account, by in sorted([(debit, -amount), (credit, amount)]):
            row = session.scalars(select(Account).where(Account.id == account).with_for_update(key_share=True)).one()
            row.balance += by
            session.flush()


def work(worker):
    for number in range(worker, COUNT, WORKERS):
        for attempt in range(ATTEMPTS_MAX):
            try:
                make(number)
                break
            except DBAPIError:
                if attempt == ATTEMPTS_MAX - 1:
                    raise
                with lock:
                    told["retries"] += 1
                time.sleep(0.1)
        with lock:
            told["transfers"] += 1
            if told["transfers"] == COUNT // 2:
                print("half", flush=True)


setup()
threads = [threading.Thread(target=work, args=(worker,)) for worker in range(WORKERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(told))
