// SPDX-License-Identifier: MIT
#include "launch/setup/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include <exception>

#include "base/text.h"

namespace stallprof {
namespace {

// Two of them stay below 1 MB.
constexpr std::size_t kFileBytes = 500'000, kLineBytes = 4000;

// In the same order; nothing is written at kOff.
spdlog::level::level_enum spdlogLevel(LogLevel level) {
  static_assert(static_cast<int>(LogLevel::kTrace) == SPDLOG_LEVEL_TRACE &&
                static_cast<int>(LogLevel::kError) == SPDLOG_LEVEL_ERROR);
  return static_cast<spdlog::level::level_enum>(level);
}

}  // namespace

struct Log::Sink {
  explicit Sink(const std::string& file)
      : logger("", std::make_shared<spdlog::sinks::rotating_file_sink_st>(file, kFileBytes, 1)) {
    logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
    logger.set_error_handler([](const std::string&) {});  // the default one writes to stderr
    logger.flush_on(spdlog::level::trace);
  }
  spdlog::logger logger;
};

Log::Log() = default;
Log::~Log() = default;

void Log::open(const std::string& directory, LogLevel level) {
  if (level == LogLevel::kOff) return;
  try {
    sink_ = std::make_unique<Sink>(directory + "/" + kLogFile);
    sink_->logger.set_level(spdlogLevel(level));
  } catch (const std::exception&) {
    sink_.reset();  // a recording without a log is as good
  }
}

bool Log::writes(LogLevel level) const {
  return sink_ && sink_->logger.should_log(spdlogLevel(level));
}

void Log::write(LogLevel level, std::string_view text) {
  if (writes(level)) sink_->logger.log(spdlogLevel(level), escapeTerminal(text, kLineBytes));
}

}  // namespace stallprof
