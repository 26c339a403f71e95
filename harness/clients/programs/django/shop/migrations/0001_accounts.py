"""Accounts and transfers between them."""

from django.db import migrations, models


def account(column):
    return models.ForeignKey("shop.Account", models.PROTECT, db_column=column, related_name="+")


class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.CreateModel(
            "Account",
            [("id", models.IntegerField(primary_key=True)), ("balance", models.IntegerField())],
            options={"db_table": "account"},
        ),
        migrations.CreateModel(
            "Transfer",
            [
                ("id", models.TextField(primary_key=True)),
                ("debit", account("debit")),
                ("credit", account("credit")),
                ("amount", models.IntegerField()),
            ],
            options={"db_table": "transfer"},
        ),
    ]
