// SPDX-License-Identifier: MIT
#include "launch/setup/recording_place.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/catch.h"
#include "tests/unit/recording/temporary_directory.h"

using namespace stallprof;
using Catch::Matchers::Contains;

namespace {

// What is said against a recording in `directory` with its report in that file there.
std::string saidOf(const testing::TemporaryDirectory& directory, const std::string& report) {
  LaunchOptions options;
  options.command = {"true"};
  options.output = directory / "a.stallprof";
  options.reports = {{"json", directory / report}};
  const auto place = chooseRecording(options, {});
  return place.ok() ? std::string() : place.error().message;
}

}  // namespace

TEST_CASE("why a report cannot be written is said as it is") {
  const testing::TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "taken");
  std::ofstream(directory / "file") << "x";
  CHECK_THAT(saidOf(directory, "taken"), Contains("taken': Is a directory"));
  CHECK_THAT(saidOf(directory, "none/report.json"), Contains("No such file or directory"));
  CHECK(saidOf(directory, "report.json").empty());
  CHECK(saidOf(directory, "file").empty());
}

TEST_CASE(
    "a report that is a link to a file, or whose own name is taken, ends nothing but the run") {
  const testing::TemporaryDirectory directory;
  std::filesystem::create_symlink("nowhere", directory / "link");
  std::filesystem::create_symlink("/dev/null", directory / "null");
  CHECK_THAT(saidOf(directory, "link"), Contains("link': it is a symbolic link"));
  CHECK(saidOf(directory, "null").empty());
  LaunchOptions options;
  options.command = {"true"};
  options.output = directory / "a.stallprof";
  options.reports = {{"text", ""}, {"html", ""}};
  CHECK(chooseRecording(options, {}).ok());
  std::ofstream(directory / "a.report.html") << "x";
  const auto taken = chooseRecording(options, {});
  REQUIRE_FALSE(taken.ok());
  CHECK_THAT(taken.error().message, Contains("a.report.html' exists"));
  options.output.clear();  // a name of its own goes on to the next number
  options.name = directory / "a";
  const auto next = chooseRecording(options, {});
  REQUIRE(next.ok());
  CHECK(next.value() == directory / "a.2.stallprof");
}

TEST_CASE("a name that another rank takes meanwhile is no error before the recording is created") {
  const testing::TemporaryDirectory directory;
  LaunchOptions options;
  options.command = {"true"};
  options.name = directory / "rank";
  const std::string first = directory / "rank.stallprof";
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      std::filesystem::create_directory(first);
      std::filesystem::remove(first);
    }
  });
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) refused += chooseRecording(options, {}).ok() ? 0 : 1;
  done = true;
  other.join();
  CHECK(refused == 0);
}

TEST_CASE("a report's usual file is beside the recording, whatever the directories are named") {
  const LaunchOptions::Report html{"html", ""};
  CHECK(reportFile("runs/a.stallprof", html) == "runs/a.report.html");
  CHECK(reportFile("a.stallprof.d/run1", html) == "a.stallprof.d/run1.report.html");
}
