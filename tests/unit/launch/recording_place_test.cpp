// SPDX-License-Identifier: MIT
#include "launch/setup/recording_place.h"

#include <filesystem>
#include <fstream>

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
