// SPDX-License-Identifier: MIT
#include "classify/waits.h"

#include <set>
#include <string>

#include "tests/catch.h"

using namespace stallprof;

TEST_CASE("blocking on a file or socket is extract, on threads of one's own transform") {
  for (const Wait wait : {Wait::kFileRead, Wait::kFileMeta, Wait::kPageFault, Wait::kSocket})
    CHECK(producerWait(wait).phase == Phase::kExtract);
  for (const Wait wait : {Wait::kFutex, Wait::kPipe, Wait::kChild, Wait::kMemory})
    CHECK(producerWait(wait).phase == Phase::kTransform);
}

TEST_CASE("what says nothing of the work is unknown, not guessed") {
  for (const Wait wait :
       {Wait::kSleep, Wait::kUnknown, Wait::kPoll, Wait::kEventLoop, Wait::kOther, Wait::kStopped})
    CHECK(producerWait(wait).phase == Phase::kUnknown);
}

TEST_CASE("every class of wait has a rule, and one from a damaged recording too") {
  for (std::size_t i = 0; i < kWaitNames.size(); ++i)
    CHECK(producerWait(static_cast<Wait>(i)).rule.starts_with("wait."));
  CHECK(producerWait(static_cast<Wait>(200)).phase == Phase::kUnknown);
  CHECK(producerWait(static_cast<Wait>(200)).rule == "wait.unnamed");
}
