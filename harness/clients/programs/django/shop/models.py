"""Accounts and transfers between them."""

from django.db import models


class Account(models.Model):
    id = models.IntegerField(primary_key=True)
    balance = models.IntegerField()

    class Meta:
        db_table = "account"


class Transfer(models.Model):
    id = models.TextField(primary_key=True)
    debit = models.ForeignKey(Account, models.PROTECT, db_column="debit", related_name="+")
    credit = models.ForeignKey(Account, models.PROTECT, db_column="credit", related_name="+")
    amount = models.IntegerField()
    note = models.TextField(null=True)

    class Meta:
        db_table = "transfer"
