"""A note for each transfer."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_accounts")]
    operations = [migrations.AddField("transfer", "note", models.TextField(null=True))]
