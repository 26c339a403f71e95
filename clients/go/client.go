// A client of Barista that goes from replica to replica until it is answered.
//
// Every request has a name (client_id and seq_id), and is repeated under that name when an answer is lost: so it is executed once. What the stubs in gen/ do not do is here: trying again, NULL, transactions.
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"barista.example/sample/gen/barista"
	"github.com/apache/thrift/lib/go/thrift"
)

const (
	// For connecting, with TLS, and until the replica says its version: one that is frozen does not.
	connectTimeout = 3 * time.Second
	between        = 200 * time.Millisecond
	// No replica has the session, or the next one has not; names of requests are known all the same.
	sessionGone = "08003"
	// No replica has the session, and its names are gone with it.
	namesGone      = "RQ002"
	outcomeUnknown = "08007"
	// It was done before, and its rows are not kept.
	doneBefore = "RQ001"
)

// This replica cannot say now: the same request, with the same handle, at the next one.
var elsewhere = map[string]bool{
	"08001": true, "08006": true, "08007": true, "57P01": true, "57P02": true, "57P03": true, "57P05": true, "53300": true,
}

// Of these, the ones that say that the request was not executed.
var notExecuted = map[string]bool{"08001": true, "57P03": true, "57P05": true, "53300": true}

// Nothing was done: the same again.
var notDone = map[string]bool{"40001": true, "40P01": true}

var likeNull = regexp.MustCompile(`^\\+N$`)

// cellOf is what travels of a value: NULL (nil) as \N, and what looks so has one backslash more.
func cellOf(value []byte) []byte {
	if value == nil {
		return []byte(`\N`)
	}
	if likeNull.Match(value) {
		return append([]byte{'\\'}, value...)
	}
	return value
}

func valueOf(cell []byte) []byte {
	if !likeNull.Match(cell) {
		return cell
	}
	if len(cell) == 2 {
		return nil
	}
	return cell[1:]
}

// stateOf is the SQLSTATE of an error, or "".
func stateOf(err error) string {
	var told *barista.DBException
	if !errors.As(err, &told) || len(told.GetDetails()) < 5 {
		return ""
	}
	return told.GetDetails()[:5]
}

// unknown: an earlier attempt may have taken effect, and nobody knows any more.
func unknown(why error) error {
	code, _ := strconv.ParseInt(outcomeUnknown, 36, 32)
	number, message := int32(code), "it is not known whether the request took effect"
	details := outcomeUnknown + "\nDETAIL: " + why.Error()
	return &barista.DBException{ErrorCode: &number, Message: &message, Details: &details}
}

// isLost: the connection broke, or never was.
func isLost(err error) bool {
	var transport thrift.TTransportException
	var protocol thrift.TProtocolException
	return errors.As(err, &transport) || errors.As(err, &protocol)
}

// Result has cells in PostgreSQL's text format; nil is NULL. IsRepeated: it was done at an earlier attempt, whose rows are lost.
type Result struct {
	RowCount   int32
	Rows       [][][]byte
	Names      []string
	Types      []string
	IsRepeated bool
}

// isRefused: whoever answers is not whom it is to be, and another attempt would not help.
func isRefused(err error) bool {
	var refused *tls.CertificateVerificationError
	return errors.As(err, &refused)
}

type link struct {
	stubs     *barista.BaristaClient
	transport thrift.TTransport
}

// Client is for one goroutine at a time.
type Client struct {
	Replicas                 []string
	User, Password, Database string
	// nil: without TLS.
	TLS *tls.Config
	// For how long a request is tried, and how long an answer of one replica is waited for.
	Timeout, AnswerTimeout time.Duration
	Retries                int

	clientID  string
	lastSeqID int
	at        int
	deadline  time.Time
	// The connection to a replica, and the handle, which may be good at the others, too.
	link *link
	con  *barista.Connection
	// The request itself was sent: what becomes of it is unknown until it is answered.
	isAsked bool
}

// NewClient has no connection yet. `caFile`: whose certificates are believed; empty: without TLS.
func NewClient(replicas []string, user, password, database, caFile string) (*Client, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	client := &Client{
		Replicas: replicas, User: user, Password: password, Database: database,
		Timeout: time.Minute, AnswerTimeout: 20 * time.Second, clientID: fmt.Sprintf("%x", id), lastSeqID: 1,
	}
	if caFile == "" {
		return client, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", caFile)
	}
	client.TLS = &tls.Config{RootCAs: pool}
	return client, nil
}

// Execute runs one statement, by itself.
func (c *Client) Execute(query string, params ...[]byte) (*Result, error) {
	name := c.nextSeqID()
	var result *Result
	err := c.insist(func() (err error) {
		result, err = c.ask(name, query, params, false)
		if stateOf(err) == doneBefore {
			result, err = &Result{IsRepeated: true}, nil
		}
		return err
	})
	return result, err
}

// Run executes a statement within a transaction.
type Run func(query string, params ...[]byte) (*Result, error)

// Transaction runs work again as a whole when its transaction is lost.
func (c *Client) Transaction(work func(run Run) error) error {
	commitName := c.nextSeqID()
	run := func(query string, params ...[]byte) (*Result, error) {
		return c.ask(c.nextSeqID(), query, params, true)
	}
	return c.insist(func() error {
		if err := c.end(c.nextSeqID(), false, (*barista.BaristaClient).BeginTxn); err != nil {
			return err
		}
		if err := work(run); err != nil {
			if c.con != nil && !isGone(stateOf(err)) && !isLost(err) {
				_ = c.end(c.nextSeqID(), false, (*barista.BaristaClient).RollbackTxn)
			}
			return err
		}
		err := c.end(commitName, true, (*barista.BaristaClient).CommitTxn)
		if stateOf(err) == doneBefore {
			return nil
		}
		return err
	})
}

// Close ends the session.
func (c *Client) Close() {
	c.deadline = time.Now().Add(c.Timeout)
	if c.con != nil {
		_ = c.end("", false, (*barista.BaristaClient).CloseConnection)
	}
	c.leave()
	c.con = nil
}

func (c *Client) nextSeqID() string {
	c.lastSeqID++
	return strconv.Itoa(c.lastSeqID)
}

func isGone(state string) bool {
	return state == sessionGone || state == namesGone
}

// Again as a whole, where nothing was done, or where it was is gone.
func (c *Client) insist(attempt func() error) error {
	c.deadline = time.Now().Add(c.Timeout)
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		state := stateOf(err)
		// In a transaction: what it was answered is lost, and its transaction was rolled back.
		isAgain := isGone(state) || state == doneBefore || notDone[state]
		if !isAgain || time.Now().After(c.deadline) {
			return err
		}
		if isGone(state) {
			c.con = nil
		}
		c.Retries++
		time.Sleep(between)
	}
}

// One request, by its name and with its handle, at one replica after the other until it is answered.
// One that takes effect by itself fails with 08007, and is not repeated, where it may have and that is not to be found out any more.
func (c *Client) call(name string, takesEffect bool, method func(*barista.BaristaClient, *barista.Connection) error) error {
	isUnsure := false
	for {
		err := c.attempt(name, method)
		state := stateOf(err)
		isElsewhere := !isRefused(err) && (isLost(err) || elsewhere[state])
		isUnsure = isUnsure || c.isAsked && isElsewhere && !notExecuted[state]
		isOver := !isElsewhere || time.Now().After(c.deadline)
		if isOver && takesEffect && isUnsure && (isElsewhere || state == namesGone) {
			return unknown(err)
		}
		if isOver {
			return err
		}
		c.leave()
		c.at++
		c.Retries++
		time.Sleep(between)
	}
}

func (c *Client) attempt(name string, method func(*barista.BaristaClient, *barista.Connection) error) error {
	c.isAsked = false
	if err := c.connect(); err != nil {
		return err
	}
	if c.con == nil {
		seqID := "1"
		con, err := c.link.stubs.OpenConnection(context.Background(), &barista.ConnectionParams{
			ClientID: &c.clientID, SeqID: &seqID, User: &c.User, Password: &c.Password, Database: &c.Database,
		})
		if err != nil {
			return err
		}
		c.con = con
	}
	con := *c.con
	if name != "" {
		con.SeqID = &name
	}
	c.isAsked = true
	return method(c.link.stubs, &con)
}

func (c *Client) ask(name, query string, params [][]byte, isInTransaction bool) (*Result, error) {
	cells := make([][]byte, len(params))
	for i, param := range params {
		cells[i] = cellOf(param)
	}
	var found *barista.ResultSet
	err := c.call(name, !isInTransaction, func(stubs *barista.BaristaClient, con *barista.Connection) (err error) {
		if isInTransaction {
			found, err = stubs.ExecuteSqlTxn(context.Background(), con, query, cells)
		} else {
			found, err = stubs.ExecuteSql(context.Background(), con, query, cells)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	result := &Result{RowCount: found.GetRowCount(), Names: found.FieldNames, Types: found.FieldTypes}
	for _, tuple := range found.Tuples {
		row := make([][]byte, len(tuple.Cells))
		for i, cell := range tuple.Cells {
			row[i] = valueOf(cell)
		}
		result.Rows = append(result.Rows, row)
	}
	return result, nil
}

func (c *Client) end(name string, takesEffect bool, method func(*barista.BaristaClient, context.Context, *barista.Connection) error) error {
	return c.call(name, takesEffect, func(stubs *barista.BaristaClient, con *barista.Connection) error {
		return method(stubs, context.Background(), con)
	})
}

func (c *Client) connect() error {
	if c.link != nil {
		return nil
	}
	settings := &thrift.TConfiguration{ConnectTimeout: connectTimeout, SocketTimeout: connectTimeout, TLSConfig: c.TLS}
	place := c.Replicas[c.at%len(c.Replicas)]
	var socket thrift.TTransport = thrift.NewTSocketConf(place, settings)
	if c.TLS != nil {
		socket = thrift.NewTSSLSocketConf(place, settings)
	}
	transport := thrift.NewTFramedTransportConf(socket, settings)
	if err := transport.Open(); err != nil {
		if isRefused(err) {
			return err
		}
		return thrift.NewTTransportExceptionFromError(err)
	}
	stubs := barista.NewBaristaClientFactory(transport, thrift.NewTBinaryProtocolFactoryConf(settings))
	if _, err := stubs.GetVersion(context.Background()); err != nil {
		transport.Close()
		return err
	}
	settings.SocketTimeout = c.AnswerTimeout
	c.link = &link{stubs, transport}
	return nil
}

func (c *Client) leave() {
	if c.link != nil {
		c.link.transport.Close()
	}
	c.link = nil
}
