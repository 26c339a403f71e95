CREATE TABLE "account" (
	"id" integer PRIMARY KEY NOT NULL,
	"balance" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "transfer" (
	"id" text PRIMARY KEY NOT NULL,
	"debit" integer REFERENCES "account" ("id"),
	"credit" integer REFERENCES "account" ("id"),
	"amount" integer
);
