// SPDX-License-Identifier: MIT
#include "launch/setup/recording_name.h"

#include <cstdlib>
#include <ctime>

#include "tests/catch.h"

using namespace stallprof;

namespace {

std::string name(const std::vector<std::string>& command, std::string_view rank = "") {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  return recordingName(command, std::chrono::seconds(1'700'000'000), 42, rank);
}

}  // namespace

TEST_CASE("a recording is named after the script, the time and the pid") {
  CHECK(name({"python", "train.py", "--lr", "1"}) == "train.20231114-221320.p42.stallprof");
  CHECK(name({"python3", "-u", "/a/b/fit.py"}) == "fit.20231114-221320.p42.stallprof");
  CHECK(name({"python", "-m", "pkg.train"}) == "pkg.train.20231114-221320.p42.stallprof");
  CHECK(name({"torchrun", "--nproc", "2", "t.py"}) == "t.20231114-221320.p42.stallprof");
  CHECK(name({"/usr/bin/sleep", "1"}) == "sleep.20231114-221320.p42.stallprof");
  CHECK(name({"bash", "-c", "python x.py"}) == "bash.20231114-221320.p42.stallprof");
}

TEST_CASE("a rank is part of the name") {
  CHECK(name({"t.py"}, "3") == "t.20231114-221320.p42.r3.stallprof");
  CHECK(rankOf({"SLURM_PROCID=4", "RANK=1"}) == "1");
  CHECK(rankOf({"OMPI_COMM_WORLD_RANK=2"}) == "2");
  CHECK(rankOf({"PMI_RANK=3"}) == "3");
  CHECK(rankOf({"PALS_RANKID=5"}) == "5");
  CHECK(rankOf({"RANK="}).empty());
}

TEST_CASE("a hostile script name becomes a plain file name") {
  CHECK(name({"-x/..;\n\x1b[2J.py"}) == "_.____2J.20231114-221320.p42.stallprof");
  CHECK(name({".hidden.py"}) == "_hidden.20231114-221320.p42.stallprof");
  CHECK(name({""}) == "run.20231114-221320.p42.stallprof");
  CHECK(name({std::string(5000, 'a')}).size() < 120);
}

TEST_CASE("a pattern of the user's own names the recording") {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const auto by = [](const std::string& pattern, const std::vector<std::string>& environment = {}) {
    return recordingNameBy(pattern, {"python", "/a/fit.py"}, std::chrono::seconds(1'700'000'000),
                           42, environment);
  };
  CHECK(by("runs/%s.%t") == "runs/fit.20231114-221320.stallprof");
  CHECK(by("%s.%p.r%r", {"RANK=3"}) == "fit.42.r3.stallprof");
  CHECK(by("%s.r%r") == "fit.r0.stallprof");
  CHECK(by("100%%") == "100%.stallprof");
  CHECK(by("a.stallprof/") == "a.stallprof");
  CHECK(by("%q{JOB}-x", {"JOB=7"}) == "7-x.stallprof");
  CHECK(by("%q{JOB}", {"JOB=../../etc/x"}) == "_._.._etc_x.stallprof");
}

TEST_CASE("a pattern with a letter that means nothing is refused") {
  for (const char* right : {"", "%s", "a%%b", "%q{X}"}) CHECK(checkNamePattern(right).ok());
  for (const char* wrong : {"%", "%x", "%q", "%q{}", "%q{X"})
    CHECK_FALSE(checkNamePattern(wrong).ok());
}
