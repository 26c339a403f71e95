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
using apache::thrift::transport::TSSLSocketFactory;
using apache::thrift::transport::TTransportException;

namespace {

constexpr auto connectTimeout = std::chrono::seconds(3);
constexpr auto between = std::chrono::milliseconds(200);

// The session is gone, or this replica cannot serve now: another session does.
const std::set<std::string> sessionGone = {
    "08001", "08003", "08006", "08007", "57P01", "57P02", "57P03", "57P05", "53300"};

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

} // namespace

std::string stateOf(const TException& error) {
  const auto* told = dynamic_cast<const stubs::DBException*>(&error);
  return told != nullptr && told->details.size() >= 5 ? told->details.substr(0, 5) : "";
}

struct Client::Session {
  explicit Session(const std::shared_ptr<TSocket>& socket)
      : transport(std::make_shared<TFramedTransport>(socket)), stubs(std::make_shared<TBinaryProtocol>(transport)) {}

  // The handle to pass, with the name of the request if it has one.
  stubs::Connection named(const std::string& name) const {
    auto copy = con;
    if (!name.empty()) copy.__set_seq_id(name);
    return copy;
  }

  std::shared_ptr<TFramedTransport> transport;
  stubs::BaristaClient stubs;
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
  if (!session_) return;
  try {
    session_->stubs.close_connection(session_->con);
  } catch (const TException&) {
    // It ends by itself.
  }
}

Result Client::execute(const std::string& query, const Cells& params) {
  const auto name = nextSeqId();
  Result result;
  if (!insist([&] { result = ask(name, query, params, false); })) result.isRepeated = true;
  return result;
}

void Client::transaction(const std::function<void(const Run& run)>& work) {
  const auto name = nextSeqId();
  const Run run = [this](const std::string& query, const Cells& params) { return ask("", query, params, true); };
  insist([&] {
    session().stubs.begin_txn(session().con);
    try {
      work(run);
    } catch (const TException& error) {
      if (!isLost(error)) rollBack();
      throw;
    } catch (...) {
      rollBack();
      throw;
    }
    session().stubs.commit_txn(session().named(name));
  });
}

void Client::rollBack() {
  if (!session_) return;
  try {
    session_->stubs.rollback_txn(session_->con);
  } catch (const TException&) {
    // It has ended otherwise.
  }
}

bool Client::insist(const std::function<void()>& attempt) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    try {
      attempt();
      return true;
    } catch (const TException& error) {
      const auto state = stateOf(error);
      if (state == doneBefore) return false;
      const bool isGone = isLost(error) || sessionGone.count(state) > 0;
      const bool isLate = std::chrono::steady_clock::now() > deadline;
      if (isLate || !(isGone || notDone.count(state) > 0)) throw;
      if (isGone) {
        session_.reset();
        at_ += 1;
      }
    }
    retries_ += 1;
    std::this_thread::sleep_for(between);
  }
}

Result Client::ask(const std::string& name, const std::string& query, const Cells& params, bool isInTransaction) {
  std::vector<std::string> cells;
  for (const auto& param : params) cells.push_back(travelling(param));
  auto& now = session();
  stubs::ResultSet found;
  if (isInTransaction) now.stubs.execute_sql_txn(found, now.named(name), query, cells);
  else now.stubs.execute_sql(found, now.named(name), query, cells);
  Result result{found.row_count, {}, found.field_names, found.field_types, false};
  for (const auto& tuple : found.tuples) {
    auto& row = result.rows.emplace_back();
    for (const auto& cell : tuple.cells) row.push_back(arrived(cell));
  }
  return result;
}

Client::Session& Client::session() {
  if (!session_) session_ = open();
  return *session_;
}

std::unique_ptr<Client::Session> Client::open() const {
  const auto& place = replicas_[at_ % replicas_.size()];
  const auto colon = place.rfind(':');
  if (colon == std::string::npos) throw std::invalid_argument(place + " is not host:port");
  auto opened = std::make_unique<Session>(socketTo(place.substr(0, colon), std::stoi(place.substr(colon + 1))));
  opened->transport->open();
  stubs::ConnectionParams params;
  params.__set_client_id(clientId_);
  params.__set_seq_id("1");
  params.__set_user(account_.user);
  params.__set_password(account_.password);
  params.__set_database(account_.database);
  opened->stubs.open_connection(opened->con, params);
  return opened;
}

// Statements may take their time: there is no time-out of reading.
std::shared_ptr<TSocket> Client::socketTo(const std::string& host, int port) const {
  const auto socket = tls_ ? tls_->createSocket(host, port) : std::make_shared<TSocket>(host, port);
  socket->setConnTimeout(static_cast<int>(std::chrono::milliseconds(connectTimeout).count()));
  return socket;
}

} // namespace barista
