// SPDX-License-Identifier: MIT
#include "recording/manifest.h"

#include "recording/format/format.h"
#include "sample_events.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

TEST_CASE("what is not UTF-8 in a manifest is escaped, not refused") {
  Manifest manifest;
  manifest.command = {Untrusted("a\xFF\x1B"), Untrusted("")};
  manifest.environment = {{"OMP_X", Untrusted("\x80")}};
  manifest.host.name = "h\xC0";
  const auto read = manifestFromJson(manifestToJson(manifest));
  REQUIRE(read.ok());
  CHECK(read.value().command == std::vector{Untrusted("a\\xff\x1B"), Untrusted("")});
  CHECK(read.value().environment.at(0).second == Untrusted("\\x80"));
  CHECK(read.value().host.name == "h\\xc0");
}

TEST_CASE("a manifest fits a frame however long the command: what is left out is counted") {
  Manifest manifest;
  manifest.command.assign(20'000, Untrusted(std::string(100, '\xFF')));
  manifest.command.front() = Untrusted("train");
  const std::string json = manifestToJson(manifest);
  CHECK(json.size() <= format::kFrameLimit);
  const auto read = manifestFromJson(json);
  REQUIRE(read.ok());
  CHECK(read.value().command.at(0) == Untrusted("train"));
  CHECK(read.value().command.size() > 900);
  CHECK(read.value().command.size() + read.value().wordsLeftOut == 20'000);
  CHECK(manifestToJson(read.value()) == json);
  manifest.environment.assign(10, {"OMP_X", Untrusted(std::string(120'000, 'x'))});
  CHECK(manifestToJson(manifest).size() <= format::kFrameLimit);
}

TEST_CASE("members that are missing or of another type are their defaults") {
  const auto read = manifestFromJson(
      R"({"format": "stallprof.recording", "version": 1, "oldest_reader": 1, "hz": "fast",
          "command": {"a": 1}, "environment": [1, "x", null], "front_pid": -4, "recorder_pid": 1e99,
          "directory": 7, "started_realtime_ns": 1.5, "unknown": [[[]]],
          "host": {"cores_online": 99999999999, "page_bytes": 0, "ticks_per_s": -1}})");
  REQUIRE(read.ok());
  CHECK(manifestToJson(read.value()) == manifestToJson(Manifest()));
}

TEST_CASE("a manifest's host may be no object, its words no text") {
  for (const char* part : {"\"host\": 3", "\"host\": null", "\"command\": [1, null, {}]",
                           "\"environment\": \"x\"", "\"command\": \"x\""}) {
    const auto read =
        manifestFromJson(std::string(R"({"format": "stallprof.recording", "version": 1,
                                         "oldest_reader": 1, )") +
                         part + "}");
    INFO(part);
    REQUIRE(read.ok());
  }
}

TEST_CASE("a variable that was recorded is read as text or as a whole number") {
  Manifest manifest;
  manifest.environment = {{"WORLD_SIZE", Untrusted("8")},
                          {"RANK", Untrusted("x3")},
                          {"LOCAL_RANK", Untrusted("-1")},
                          {"EMPTY", Untrusted("")}};
  CHECK(manifest.variable("RANK") == "x3");
  CHECK(manifest.variable("NONE").empty());
  CHECK(manifest.numberIn("WORLD_SIZE") == 8);
  for (const char* none : {"RANK", "LOCAL_RANK", "EMPTY", "NONE"})
    CHECK_FALSE(manifest.numberIn(none).has_value());
}

TEST_CASE("an imported trace is known by its words and by having no directory") {
  Manifest manifest;
  manifest.command = {Untrusted("import"), Untrusted("rank0.pt.trace.json")};
  CHECK(manifest.imported());
  manifest.directory = Untrusted("/home/user");  // that runs a program of this name
  CHECK_FALSE(manifest.imported());
  manifest.directory = {};
  manifest.command[0] = Untrusted("python");
  CHECK_FALSE(manifest.imported());
}

TEST_CASE("a manifest without a version is refused") {
  const auto read = manifestFromJson(R"({"format": "stallprof.recording"})");
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().kind == Error::Kind::kUnsupported);
}

}  // namespace
}  // namespace stallprof
