// A client of Barista that goes from replica to replica until it is answered. For one thread at a time.
//
// Every request has a name (client_id and seq_id), and is repeated under that name when an answer is lost: so it is executed once. What the stubs do not do is here: trying again, NULL, transactions.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thrift/Thrift.h>
#include <thrift/transport/TSSLSocket.h>
#include <vector>

namespace barista {

// In PostgreSQL's text format; none is NULL.
using Cell = std::optional<std::string>;
using Cells = std::vector<Cell>;

struct Result {
  int rowCount = 0;
  std::vector<Cells> rows;
  std::vector<std::string> names;
  std::vector<std::string> types;
  // It was done at an earlier attempt, whose rows are lost.
  bool isRepeated = false;
};

// Executes a statement in a transaction.
using Run = std::function<Result(const std::string& query, const Cells& params)>;

// The SQLSTATE of an error, or "".
std::string stateOf(const apache::thrift::TException& error);

struct Account {
  std::string user, password, database;
};

class Client {
public:
  // `replicas`: host:port. `caFile`: whose certificates are believed; empty: without TLS.
  Client(std::vector<std::string> replicas, Account account, const std::string& caFile = "");
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // One statement, by itself.
  Result execute(const std::string& query, const Cells& params = {});

  // `work` is run again as a whole when its transaction is lost.
  void transaction(const std::function<void(const Run& run)>& work);

  int retries() const { return retries_; }

  // For how long a request is tried.
  std::chrono::milliseconds timeout = std::chrono::minutes(1);

  // So long an answer of one replica is waited for.
  std::chrono::milliseconds answerTimeout = std::chrono::seconds(20);

private:
  struct Link;
  struct Handle;

  void insist(const std::function<void()>& attempt);
  void call(bool takesEffect, const std::function<void(Link& link, const Handle& handle)>& request);
  Result ask(const std::string& name, const std::string& query, const Cells& params, bool isInTransaction);
  void rollBack();
  std::unique_ptr<Link> connect() const;
  std::unique_ptr<Handle> open() const;
  std::shared_ptr<apache::thrift::transport::TSocket> socketTo(const std::string& host, int port) const;
  std::string nextSeqId() { return std::to_string(++lastSeqId_); }

  const std::vector<std::string> replicas_;
  const Account account_;
  const std::string clientId_;
  // Outlives its sockets, as OpenSSL must.
  std::unique_ptr<apache::thrift::transport::TSSLSocketFactory> tls_;
  // To a replica, and the handle, which may be good at the others, too.
  std::unique_ptr<Link> link_;
  std::unique_ptr<Handle> handle_;
  std::chrono::steady_clock::time_point deadline_;
  int lastSeqId_ = 1;
  std::size_t at_ = 0;
  int retries_ = 0;
};

} // namespace barista
