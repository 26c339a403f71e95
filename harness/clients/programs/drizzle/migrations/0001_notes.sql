ALTER TABLE "transfer" ADD COLUMN "note" text;
