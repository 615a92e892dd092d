// SPDX-License-Identifier: MIT
#include "launch/setup/log.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/unit/recording/temporary_directory.h"

using namespace stallprof;
namespace fs = std::filesystem;

namespace {

std::string contentOf(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a log holds the lines of its level and above, escaped, while it is open") {
  const testing::TemporaryDirectory directory;
  Log log;
  log.write(LogLevel::kError, "before it is open");
  log.open(directory.path(), LogLevel::kInfo);
  log.write(LogLevel::kDebug, "a detail");
  log.write(LogLevel::kInfo, "a\nb\x1b[31m {}");
  const std::string text = contentOf(directory / "log");
  CHECK(text.find("info a\\x0ab\\x1b[31m {}\n") != std::string::npos);
  CHECK(text.find("detail") == std::string::npos);
  CHECK(text.find("before") == std::string::npos);
  CHECK(log.writes(LogLevel::kWarning));
  CHECK_FALSE(log.writes(LogLevel::kTrace));
}

TEST_CASE("a log and its older half take less than 1 MB, the newest lines last") {
  const testing::TemporaryDirectory directory;
  Log log;
  log.open(directory.path(), LogLevel::kTrace);
  for (int i = 0; i < 30'000; ++i)
    log.write(LogLevel::kTrace, "line " + std::to_string(i) + " " + std::string(80, 'x'));
  std::uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(directory.path())) bytes += file.file_size();
  CHECK(bytes < 1'000'000);
  CHECK(bytes > 400'000);
  CHECK(contentOf(directory / "log").find("line 29999 ") != std::string::npos);
}

TEST_CASE("a log that cannot be written, or is off, does nothing") {
  const testing::TemporaryDirectory directory;
  Log off;
  off.open(directory.path(), LogLevel::kOff);
  off.write(LogLevel::kError, "x");
  CHECK(fs::is_empty(directory.path()));
  fs::create_directory(directory / "log");
  Log blocked;
  blocked.open(directory.path(), LogLevel::kInfo);
  blocked.write(LogLevel::kError, "x");
  CHECK_FALSE(blocked.writes(LogLevel::kError));
}
