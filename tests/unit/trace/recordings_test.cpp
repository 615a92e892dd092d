// SPDX-License-Identifier: MIT
// Recordings made once and kept: every later version reads them (src/recording/FORMAT.md). Made by
//   stallprof run -o v1.stallprof --report none -- /usr/bin/python3 train.py --steps 20 --workers 1
//       --batch-size 4 --sample-cpu-ms 1 --compute-ms 5 --log log.json
// where train.py is tools/puppet/puppet.py.
#include "tests/catch.h"
#include "trace/trace_builder.h"

using namespace stallprof;

TEST_CASE("a recording of format 1 loads whole, with the training it holds") {
  TraceBuilder builder;
  const Result<bool> more = builder.fill(recordingEvents(STALLPROF_TESTS_DIR "/recordings/v1"));
  INFO((more.ok() ? std::string() : more.error().message));
  REQUIRE(more.ok());
  REQUIRE_FALSE(more.value());
  const Trace trace = builder.seal();
  CHECK(trace.cleanEnd);
  CHECK(trace.losses.empty());
  REQUIRE(trace.manifest.command.size() > 2);
  CHECK(trace.manifest.command[2].raw() == "--steps");

  REQUIRE(trace.loaders.size() == 1);
  const LoaderSeen& loader = trace.loaders[0].data;
  CHECK(trace.text(loader.kind) == "torch.DataLoader");
  CHECK(trace.text(loader.file) == "/srv/job/train.py");
  CHECK(loader.workers == 1);
  CHECK(loader.batchSize == 4);
  CHECK(trace.optimizerSteps.size() == 20);
  REQUIRE(trace.fetches.size() == 21);
  CHECK(trace.fetches[19].data.batch == 19);
  CHECK(trace.fetches[20].data.end);
  REQUIRE(trace.tasks.size() == 20);
  for (const auto& task : trace.tasks) {
    CHECK(task.data.cpu > Nanos{3'000'000});  // 4 samples of 1 ms
    CHECK(task.data.fetchEnd >= task.data.fetchBegin + task.data.cpu / 2);
  }
  CHECK(trace.workers.size() == 1);
  CHECK(trace.iterators.size() == 1);
  CHECK(trace.frameworks.size() >= 1);
  REQUIRE(trace.ends.size() == 1);
  CHECK(trace.ends[0].data.exitCode == 0);
  CHECK(trace.host.size() >= 2);
  std::size_t slices = 0;
  for (const ThreadLife& thread : trace.threads) slices += thread.slices.size();
  CHECK(slices > 0);
}
