// SPDX-License-Identifier: MIT
#include "launch/setup/overrides.h"

#include <algorithm>

#include "tests/catch.h"

using namespace stallprof;

namespace {

std::string valueOrWhy(std::string_view word) {
  const auto setting = parseSetting(word);
  return setting.ok() ? setting.value().first + " " + setting.value().second
                      : setting.error().message;
}

}  // namespace

TEST_CASE("settings of a loader are taken in Python's words and in ours") {
  CHECK(valueOrWhy("num_workers=04") == "num_workers 4");
  CHECK(valueOrWhy("pin_memory=True") == "pin_memory true");
  CHECK(valueOrWhy("in_order=false") == "in_order false");
  CHECK(valueOrWhy("num_parallel_calls=auto") == "num_parallel_calls auto");
  CHECK(valueOrWhy("private_threadpool_size=auto").find("whole number") != std::string::npos);
}

TEST_CASE("a setting that no loader has is refused with the names that there are") {
  for (const char* word : {"thread_count=2", "num_workers", "=3", "shuffle=false"})
    CHECK(valueOrWhy(word).find("num_workers, prefetch_factor, persistent_workers") !=
          std::string::npos);
  for (const char* word : {"num_workers=", "num_workers=-1", "num_workers=4097", "num_workers=2x",
                           "prefetch_factor=0"})
    CHECK(valueOrWhy(word).find("whole number") != std::string::npos);
  CHECK(valueOrWhy("persistent_workers=yes").find("true or false") != std::string::npos);
}

TEST_CASE("variables are replaced where they are, and nothing else of an environment changes") {
  const std::vector<std::string> environment = {"A=1", "OMP_NUM_THREADS=8", "HOME=/home/u", "A2=x"};
  CHECK(withOverrides(environment, {}) == environment);
  Overrides overrides;
  overrides.threads = 2;
  overrides.env = {"A=b=c", "EMPTY="};
  const auto changed = withOverrides(environment, overrides);
  const auto has = [&](const std::string& word) {
    return std::count(changed.begin(), changed.end(), word) == 1;
  };
  CHECK((has("A=b=c") && has("EMPTY=") && has("HOME=/home/u") && has("A2=x")));
  CHECK((has("OMP_NUM_THREADS=2") && has("OPENBLAS_NUM_THREADS=2")));
  CHECK((!has("A=1") && !has("OMP_NUM_THREADS=8")));
}

TEST_CASE("the hook gets its part, and that of an outer run goes") {
  Overrides overrides;
  overrides.settings = {{"num_workers", "2"}};
  overrides.loaderAt = "train.py:30";
  const auto changed = withOverrides({"STALLPROF_OVERRIDES=threads=9\n"}, overrides);
  REQUIRE(changed.size() == 1);
  CHECK(changed[0] == "STALLPROF_OVERRIDES=num_workers=2\nloader=train.py:30\n");
  CHECK(withOverrides({"STALLPROF_OVERRIDES=threads=9\n"}, {}).empty());
}

TEST_CASE("a recording holds no secret of a variable that was set") {
  Overrides overrides;
  overrides.env = {"MODE=fast", "API_TOKEN=hunter2"};
  std::string all;
  for (const Untrusted& word : wordsOf(overrides)) all += word.raw() + " ";
  CHECK(all == "--env MODE=fast --env API_TOKEN=*** ");
}
