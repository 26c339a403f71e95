// pgx with its pool. PGHOST and PGPORT may be lists, as libpq has them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	workers     = 4
	count       = 100
	attemptsMax = 100
)

type told struct {
	Transfers int `json:"transfers"`
	Retries   int `json:"retries"`
}

var migrations = []string{
	`CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
	 CREATE TABLE transfer (id text PRIMARY KEY, debit int REFERENCES account, credit int REFERENCES account, amount int)`,
	`ALTER TABLE transfer ADD COLUMN note text`,
}

func setUp(ctx context.Context, pool *pgxpool.Pool) error {
	for _, migration := range migrations {
		if _, err := pool.Exec(ctx, migration); err != nil {
			return err
		}
	}
	var rows [][]any
	for id := int32(1); id <= 10; id++ {
		rows = append(rows, []any{id, int32(100)})
	}
	_, err := pool.CopyFrom(ctx, pgx.Identifier{"account"}, []string{"id", "balance"}, pgx.CopyFromRows(rows))
	return err
}

func makeTransfer(ctx context.Context, pool *pgxpool.Pool, number int) error {
	debit, credit, amount := 1+number%10, 1+(number*7+3)%10, 1+number%5
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		made, err := tx.Exec(ctx, "INSERT INTO transfer VALUES ($1, $2, $3, $4, 'by pgx') ON CONFLICT DO NOTHING",
			fmt.Sprint(number), debit, credit, amount)
		if err != nil || made.RowsAffected() == 0 {
			return err
		}
		first, second, by := debit, credit, -amount
		if credit < debit {
			first, second, by = credit, debit, amount
		}
		for _, change := range [][2]int{{first, by}, {second, -by}} {
			if _, err := tx.Exec(ctx, "UPDATE account SET balance = balance + $2 WHERE id = $1", change[0], change[1]); err != nil {
				return err
			}
		}
		return nil
	})
}

func main() {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig("connect_timeout=10")
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = workers
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if err := setUp(ctx, pool); err != nil {
		log.Fatal(err)
	}
	var lock sync.Mutex
	var all told
	var group sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for number := worker; number < count; number += workers {
				for attempt := 1; ; attempt++ {
					err := makeTransfer(ctx, pool, number)
					if err == nil {
						break
					}
					if attempt == attemptsMax {
						log.Fatal(err)
					}
					lock.Lock()
					all.Retries++
					lock.Unlock()
					time.Sleep(100 * time.Millisecond)
				}
				lock.Lock()
				all.Transfers++
				if all.Transfers == count/2 {
					fmt.Println("half")
				}
				lock.Unlock()
			}
		}(worker)
	}
	group.Wait()
	line, err := json.Marshal(all)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}
