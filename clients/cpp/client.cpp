// See client.h.
#include "client.h"

#include "Barista.h"
#include <csignal>
#include <iomanip>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>
#include <utility>

namespace barista {

using apache::thrift::TException;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::protocol::TProtocolException;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TSSLException;
using apache::thrift::transport::TSSLSocketFactory;
using apache::thrift::transport::TTransportException;

namespace {

// For connecting, with TLS, and until the replica says its version: one that is frozen does not.
constexpr auto connectTimeout = std::chrono::seconds(3);
constexpr auto between = std::chrono::milliseconds(200);

// This replica cannot say now: the same request, with the same handle, at the next one.
const std::set<std::string> elsewhere = {"08001", "08006", "08007", "57P01", "57P02", "57P03", "57P05", "53300"};

// Of these, the ones that say that the request was not executed.
const std::set<std::string> notExecuted = {"08001", "57P03", "57P05", "53300"};

// No replica has the session, or the next one has not; names of requests are known all the same.
const std::string sessionGone = "08003";

// No replica has the session, and its names are gone with it.
const std::string namesGone = "RQ002";

const std::string outcomeUnknown = "08007";

// Nothing was done: the same again.
const std::set<std::string> notDone = {"40001", "40P01"};

// It was done before, and its rows are not kept.
const std::string doneBefore = "RQ001";

std::string newClientId() {
  std::random_device source;
  std::ostringstream id;
  for (int part = 0; part < 4; part += 1) id << std::hex << std::setw(8) << std::setfill('0') << source();
  return id.str();
}

// One backslash or more, and N.
bool isLikeNull(const std::string& text) {
  return text.size() > 1 && text.find_first_not_of('\\') == text.size() - 1 && text.back() == 'N';
}

// NULL travels as \N, and what looks so has one backslash more.
std::string travelling(const Cell& cell) {
  if (!cell) return "\\N";
  return isLikeNull(*cell) ? '\\' + *cell : *cell;
}

Cell arrived(const std::string& text) {
  if (!isLikeNull(text)) return text;
  return text.size() == 2 ? Cell() : text.substr(1);
}

// The connection broke, or never was.
bool isLost(const TException& error) {
  return dynamic_cast<const TTransportException*>(&error) != nullptr ||
         dynamic_cast<const TProtocolException*>(&error) != nullptr;
}

bool isGone(const std::string& state) { return state == sessionGone || state == namesGone; }

// An earlier attempt may have taken effect, and nobody knows any more.
stubs::DBException unknown(const TException& why) {
  stubs::DBException error;
  error.__set_errorCode(static_cast<int32_t>(std::stol(outcomeUnknown, nullptr, 36)));
  error.__set_message("it is not known whether the request took effect");
  error.__set_details(outcomeUnknown + "\nDETAIL: " + why.what());
  return error;
}

void setTimeouts(TSocket& socket, std::chrono::milliseconds timeout) {
  socket.setRecvTimeout(static_cast<int>(timeout.count()));
  socket.setSendTimeout(static_cast<int>(timeout.count()));
}

// Whoever answers is not whom it is to be: another attempt would not help.
bool isRefused(const TException& error) {
  const std::string what = error.what();
  return dynamic_cast<const TSSLException*>(&error) != nullptr &&
         (what.find("certificate") != std::string::npos || what.find("authorize") == 0);
}

} // namespace

std::string stateOf(const TException& error) {
  const auto* told = dynamic_cast<const stubs::DBException*>(&error);
  return told != nullptr && told->details.size() >= 5 ? told->details.substr(0, 5) : "";
}

struct Client::Link {
  explicit Link(const std::shared_ptr<TSocket>& socket)
      : transport(std::make_shared<TFramedTransport>(socket)), stubs(std::make_shared<TBinaryProtocol>(transport)) {}

  std::shared_ptr<TFramedTransport> transport;
  stubs::BaristaClient stubs;
};

struct Client::Handle {
  // To pass, with the name of the request if it has one.
  stubs::Connection named(const std::string& name) const {
    auto copy = con;
    if (!name.empty()) copy.__set_seq_id(name);
    return copy;
  }

  stubs::Connection con;
};

Client::Client(std::vector<std::string> replicas, Account account, const std::string& caFile)
    : replicas_(std::move(replicas)), account_(std::move(account)), clientId_(newClientId()) {
  if (replicas_.empty()) throw std::invalid_argument("no replica is named");
  if (caFile.empty()) return;
  // OpenSSL writes to connections that the other side has closed; without this the process would end.
  std::signal(SIGPIPE, SIG_IGN);
  tls_ = std::make_unique<TSSLSocketFactory>();
  tls_->authenticate(true);
  tls_->loadTrustedCertificates(caFile.c_str());
}

Client::~Client() {
  if (!link_ || !handle_) return;
  try {
    link_->stubs.close_connection(handle_->con);
  } catch (const TException&) {
    // It ends by itself.
  }
}

Result Client::execute(const std::string& query, const Cells& params) {
  const auto name = nextSeqId();
  Result result;
  insist([&] {
    try {
      result = ask(name, query, params, false);
    } catch (const stubs::DBException& error) {
      if (stateOf(error) != doneBefore) throw;
      result.isRepeated = true;
    }
  });
  return result;
}

void Client::transaction(const std::function<void(const Run& run)>& work) {
  const auto commitName = nextSeqId();
  const Run run = [this](const std::string& query, const Cells& params) {
    return ask(nextSeqId(), query, params, true);
  };
  insist([&] {
    const auto beginName = nextSeqId();
    call(false, [&](Link& link, const Handle& handle) { link.stubs.begin_txn(handle.named(beginName)); });
    try {
      work(run);
    } catch (const TException& error) {
      if (!isLost(error) && !isGone(stateOf(error))) rollBack();
      throw;
    } catch (...) {
      rollBack();
      throw;
    }
    try {
      call(true, [&](Link& link, const Handle& handle) { link.stubs.commit_txn(handle.named(commitName)); });
    } catch (const stubs::DBException& error) {
      if (stateOf(error) != doneBefore) throw;
    }
  });
}

void Client::rollBack() {
  if (!handle_) return;
  const auto name = nextSeqId();
  try {
    call(false, [&](Link& link, const Handle& handle) { link.stubs.rollback_txn(handle.named(name)); });
  } catch (const TException&) {
    // It has ended otherwise.
  }
}

// Again as a whole, where nothing was done, or where it was is gone.
void Client::insist(const std::function<void()>& attempt) {
  deadline_ = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    try {
      attempt();
      return;
    } catch (const stubs::DBException& error) {
      const auto state = stateOf(error);
      // In a transaction: what it was answered is lost, and its transaction was rolled back.
      const bool isAgain = isGone(state) || state == doneBefore || notDone.count(state) > 0;
      if (!isAgain || std::chrono::steady_clock::now() > deadline_) throw;
      if (isGone(state)) handle_.reset();
    }
    retries_ += 1;
    std::this_thread::sleep_for(between);
  }
}

// One request, by its name and with its handle, at one replica after the other until it is answered.
// One that takes effect by itself fails with 08007, and is not repeated, where it may have and that is not to be found out any more.
void Client::call(bool takesEffect, const std::function<void(Link& link, const Handle& handle)>& request) {
  bool isUnsure = false;
  for (;;) {
    bool isAsked = false;
    try {
      if (!link_) link_ = connect();
      if (!handle_) handle_ = open();
      isAsked = true;
      request(*link_, *handle_);
      return;
    } catch (const TException& error) {
      const auto state = stateOf(error);
      const bool isElsewhere = !isRefused(error) && (isLost(error) || elsewhere.count(state) > 0);
      isUnsure = isUnsure || (isAsked && isElsewhere && notExecuted.count(state) == 0);
      const bool isOver = !isElsewhere || std::chrono::steady_clock::now() > deadline_;
      if (isOver && takesEffect && isUnsure && (isElsewhere || state == namesGone)) throw unknown(error);
      if (isOver) throw;
      link_.reset();
      at_ += 1;
    }
    retries_ += 1;
    std::this_thread::sleep_for(between);
  }
}

Result Client::ask(const std::string& name, const std::string& query, const Cells& params, bool isInTransaction) {
  std::vector<std::string> cells;
  for (const auto& param : params) cells.push_back(travelling(param));
  stubs::ResultSet found;
  call(!isInTransaction, [&](Link& link, const Handle& handle) {
    if (isInTransaction) link.stubs.execute_sql_txn(found, handle.named(name), query, cells);
    else link.stubs.execute_sql(found, handle.named(name), query, cells);
  });
  Result result{found.row_count, {}, found.field_names, found.field_types, false};
  for (const auto& tuple : found.tuples) {
    auto& row = result.rows.emplace_back();
    for (const auto& cell : tuple.cells) row.push_back(arrived(cell));
  }
  return result;
}

std::unique_ptr<Client::Link> Client::connect() const {
  const auto& place = replicas_[at_ % replicas_.size()];
  const auto colon = place.rfind(':');
  if (colon == std::string::npos) throw std::invalid_argument(place + " is not host:port");
  const auto socket = socketTo(place.substr(0, colon), std::stoi(place.substr(colon + 1)));
  auto made = std::make_unique<Link>(socket);
  made->transport->open();
  made->stubs.get_version();
  setTimeouts(*socket, answerTimeout);
  return made;
}

std::unique_ptr<Client::Handle> Client::open() const {
  auto opened = std::make_unique<Handle>();
  stubs::ConnectionParams params;
  params.__set_client_id(clientId_);
  params.__set_seq_id("1");
  params.__set_user(account_.user);
  params.__set_password(account_.password);
  params.__set_database(account_.database);
  link_->stubs.open_connection(opened->con, params);
  return opened;
}

std::shared_ptr<TSocket> Client::socketTo(const std::string& host, int port) const {
  const auto socket = tls_ ? tls_->createSocket(host, port) : std::make_shared<TSocket>(host, port);
  socket->setConnTimeout(static_cast<int>(std::chrono::milliseconds(connectTimeout).count()));
  setTimeouts(*socket, connectTimeout);
  return socket;
}

} // namespace barista
