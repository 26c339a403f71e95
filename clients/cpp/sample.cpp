// Counts to forty: each number by a statement of its own, and a sum that a transaction raises. Kill the leader meanwhile.
//
// BARISTA_REPLICAS=127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002 gen/sample
#include "client.h"

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <thread>
#include <thrift/TOutput.h>

namespace {

constexpr int steps = 40;

std::string setting(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream rest(list);
  for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  return parts;
}

void count() {
  const auto table = setting("BARISTA_TABLE", "sample_cpp");
  const auto replicas = split(setting("BARISTA_REPLICAS", "127.0.0.1:9000,127.0.0.1:9001,127.0.0.1:9002"));
  barista::Client client(replicas, {"barista", "barista", "barista"}, setting("BARISTA_CA", ""));
  client.answerTimeout = std::chrono::milliseconds(std::stoi(setting("BARISTA_ANSWER_TIMEOUT_MS", "20000")));
  client.execute("CREATE TABLE IF NOT EXISTS " + table + " (n int, note text)");
  client.execute("CREATE TABLE IF NOT EXISTS " + table + "_sum (total int)");
  client.execute("INSERT INTO " + table + "_sum VALUES (0)");
  int begun = 0;
  for (int n = 1; n <= steps; n += 1) {
    const auto note = n % 2 == 0 ? barista::Cell() : "\\N";
    client.execute("INSERT INTO " + table + " VALUES ($1, $2)", {std::to_string(n), note});
    client.transaction([&](const barista::Run& run) {
      begun += 1;
      const auto total = run("SELECT total FROM " + table + "_sum FOR UPDATE", {}).rows.at(0).at(0).value();
      if (n == steps / 2) {
        std::cout << "half" << std::endl;
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
      }
      run("UPDATE " + table + "_sum SET total = $1", {std::to_string(std::stoi(total) + n)});
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  const auto own = client.execute(
      "SELECT count(*), count(DISTINCT n), count(note), max(note), (SELECT max(total) FROM " + table + "_sum) FROM " + table);
  const char* gap = "";
  for (const auto& cell : own.rows.at(0)) {
    std::cout << gap << cell.value_or("");
    gap = " ";
  }
  std::cout << "\n{\"steps\": " << steps << ", \"retries\": " << client.retries() << ", \"begun\": " << begun << "}" << std::endl;
}

} // namespace

int main() {
  // The library tells of each connection that fails; whether that matters is known when no other replica answers.
  apache::thrift::GlobalOutput.setOutputFunction([](const char*) {});
  try {
    count();
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
