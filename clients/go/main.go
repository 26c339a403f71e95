package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"barista.example/sample/gen/barista"
)

const steps = 40

func setting(name, otherwise string) string {
	if value, isThere := os.LookupEnv(name); isThere {
		return value
	}
	return otherwise
}

// Counts to forty: each number by a statement of its own, and a sum that a transaction raises. Kill the leader meanwhile.
//
// BARISTA_REPLICAS=127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002 gen/sample
func main() {
	if err := count(); err != nil {
		var told *barista.DBException
		if errors.As(err, &told) {
			fmt.Fprintln(os.Stderr, told.GetMessage())
		}
		fmt.Fprintln(os.Stderr, stateOf(err), err)
		os.Exit(1)
	}
}

func count() error {
	table := setting("BARISTA_TABLE", "sample_go")
	replicas := strings.Split(setting("BARISTA_REPLICAS", "127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002"), ",")
	client, err := NewClient(replicas, "barista", "barista", "barista", os.Getenv("BARISTA_CA"))
	if err != nil {
		return err
	}
	defer client.Close()
	waitMs, err := strconv.Atoi(setting("BARISTA_ANSWER_TIMEOUT_MS", "20000"))
	if err != nil {
		return err
	}
	client.AnswerTimeout = time.Duration(waitMs) * time.Millisecond
	for _, query := range []string{
		"CREATE TABLE IF NOT EXISTS " + table + " (n int, note text)",
		"CREATE TABLE IF NOT EXISTS " + table + "_sum (total int)",
		"INSERT INTO " + table + "_sum VALUES (0)",
	} {
		if _, err := client.Execute(query); err != nil {
			return err
		}
	}
	begun := 0
	for n := 1; n <= steps; n++ {
		note := []byte(`\N`)
		if n%2 == 0 {
			note = nil
		}
		if _, err := client.Execute("INSERT INTO "+table+" VALUES ($1, $2)", []byte(strconv.Itoa(n)), note); err != nil {
			return err
		}
		if err := client.Transaction(func(run Run) error {
			begun++
			return add(run, table, n)
		}); err != nil {
			return err
		}
		time.Sleep(25 * time.Millisecond)
	}
	own, err := client.Execute("SELECT count(*), count(DISTINCT n), count(note), max(note), (SELECT max(total) FROM " + table + "_sum) FROM " + table)
	if err != nil {
		return err
	}
	cells := make([]string, len(own.Rows[0]))
	for i, cell := range own.Rows[0] {
		cells[i] = string(cell)
	}
	fmt.Println(strings.Join(cells, " "))
	fmt.Printf("{\"steps\": %d, \"retries\": %d, \"begun\": %d}\n", steps, client.Retries, begun)
	return nil
}

func add(run Run, table string, n int) error {
	found, err := run("SELECT total FROM " + table + "_sum FOR UPDATE")
	if err != nil {
		return err
	}
	total, err := strconv.Atoi(string(found.Rows[0][0]))
	if err != nil {
		return err
	}
	if n == steps/2 {
		fmt.Println("half")
		time.Sleep(500 * time.Millisecond)
	}
	_, err = run("UPDATE "+table+"_sum SET total = $1", []byte(strconv.Itoa(total+n)))
	return err
}
