// SPDX-License-Identifier: MIT
#include "present/chrome_trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "present/trace_check.h"
#include "tests/catch.h"
#include "trace/trace_text.h"

using namespace stallprof;

namespace {

Trace traceOf(const std::string& text) {
  auto trace = parseTrace(text);
  REQUIRE(trace.ok());
  return std::move(trace).value();
}

std::string goldenText(const std::string& name) {
  std::ifstream file(std::string(STALLPROF_TESTS_DIR) + "/golden/" + name + "/trace.txt");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> goldens() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(STALLPROF_TESTS_DIR) + "/golden"))
    if (std::filesystem::exists(entry.path() / "trace.txt"))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

struct Drawn {
  std::string json;
  TraceWritten written;
};

Drawn draw(const Trace& trace, const TimelineOptions& options = {}) {
  Drawn drawn;
  drawn.written =
      writeChromeTrace(trace, analyzeWithFacts(trace), options, [&](std::string_view bytes) {
        drawn.json += bytes;
        return true;
      });
  return drawn;
}

TraceCheck check(const std::string& json) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  REQUIRE(file);
  REQUIRE(std::fwrite(json.data(), 1, json.size(), file.get()) == json.size());
  std::rewind(file.get());
  return checkTrace(file.get());
}

std::string firstProblem(const TraceCheck& c) {
  return c.problems.empty() ? std::string() : c.problems.front();
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("the trace of every golden recording passes the check, whole and bounded") {
  REQUIRE(goldens().size() > 20);
  for (const std::string& name : goldens()) {
    INFO(name);
    const Trace trace = traceOf(goldenText(name));
    for (const std::uint64_t most : {100u, 400'000u}) {
      TimelineOptions options;
      options.most = most;
      const Drawn drawn = draw(trace, options);
      CHECK(drawn.written.bytes == drawn.json.size());
      const TraceCheck found = check(drawn.json);
      CHECK(firstProblem(found) == "");
      CHECK(found.format == "trace events");
    }
  }
}

TEST_CASE("a bounded trace is smaller, keeps whole steps and says what it merged") {
  std::string text = goldenText("too_few_workers");
  const std::string few = "repeat 180 ";
  REQUIRE(text.find(few) != std::string::npos);
  while (text.find(few) != std::string::npos)
    text.replace(text.find(few), few.size(), "repeat 5000 ");
  const Trace trace = traceOf(text);
  TimelineOptions bounded;
  bounded.most = 1000;
  const Drawn all = draw(trace), some = draw(trace, bounded);
  CHECK(all.written.summary.whole);
  CHECK(all.written.summary.merged == 0);
  CHECK_FALSE(some.written.summary.whole);
  CHECK(some.written.summary.merged > 0);
  CHECK(some.written.summary.steps > 0);
  CHECK(some.written.summary.steps < all.written.summary.steps);
  CHECK(some.json.size() < all.json.size() / 2);
  CHECK_FALSE(some.written.summary.detail.empty());
  bounded.full = true;
  CHECK(draw(trace, bounded).json == all.json);
}

TEST_CASE("each step is named as trace tools expect, and each batch's arrow has both ends") {
  const Trace trace = traceOf(goldenText("too_few_workers"));
  const Drawn drawn = draw(trace);
  CHECK(count(drawn.json, "\"name\":\"ProfilerStep#") == drawn.written.summary.steps);
  CHECK(drawn.written.summary.steps >= 150);
  CHECK(count(drawn.json, "\"ph\":\"s\"") > 100);
  CHECK(count(drawn.json, "\"ph\":\"s\"") == count(drawn.json, "\"ph\":\"f\""));
}

TEST_CASE("names of the job cannot end a string, hide text or break the file") {
  const std::string hostile = "\\\"},{\\\"x\\x1b[31m</script>\\xe2\\x80\\xae";
  std::string text = goldenText("too_few_workers");
  text += "1s framework process=1 name=\"" + hostile + "\" version=\"" + hostile + "\"\n";
  text += "3s span thread=1 duration=1ms phase=periodic source=hook name=\"" + hostile +
          "\" file=\"" + hostile + "\"\n";
  text += "1s thread thread=9 process=1 tid=199 name=\"" + hostile + "\"\n";
  text += "4s range thread=9 duration=5ms name=\"" + hostile + "\" domain=\"" + hostile + "\"\n";
  const Drawn drawn = draw(traceOf(text));
  CHECK(firstProblem(check(drawn.json)) == "");
  CHECK(drawn.json.find('\x1b') == std::string::npos);
  CHECK(drawn.json.find("\xe2\x80\xae") == std::string::npos);
  CHECK(drawn.json.find("[31m") != std::string::npos);  // it is there, harmless
}

TEST_CASE("the check finds slices that overlap, arrows without an end, and a file cut short") {
  const std::string head =
      "{\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"t\"}},\n"
      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}},\n";
  const auto slice = [](int begin, int duration) {
    return "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":" + std::to_string(begin) +
           ",\"dur\":" + std::to_string(duration) + "}";
  };
  CHECK(firstProblem(check(head + slice(0, 10) + ",\n" + slice(2, 5) + "]}")) == "");
  CHECK_FALSE(check(head + slice(0, 10) + ",\n" + slice(2, 15) + "]}").ok());
  CHECK_FALSE(check(head + slice(0, 10) +
                    ",\n{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"b\",\"cat\":\"c\",\"id\":7,\"pid\":1,"
                    "\"tid\":1,\"ts\":3}]}")
                  .ok());
  CHECK_FALSE(check(head + slice(0, 10)).ok());
  CHECK_FALSE(check("").ok());
  CHECK_FALSE(check("hello").ok());
}
