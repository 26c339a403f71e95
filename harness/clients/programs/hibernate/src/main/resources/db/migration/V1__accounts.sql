CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
CREATE TABLE transfer (
  id text PRIMARY KEY,
  debit int REFERENCES account,
  credit int REFERENCES account,
  amount int
);
