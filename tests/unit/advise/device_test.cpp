// SPDX-License-Identifier: MIT
#include "advise/advise.h"
#include "advise/explain.h"
#include "tests/catch.h"
#include "tests/unit/advise/one_finding.h"

using namespace stallprof;
using stallprof::test::holds;

namespace {

Analysis with(const char* finding, const char* id, Advice::Change change) {
  LoaderInfo l;
  l.workers = 2;
  l.where.line = 12;
  Analysis a = test::oneFinding({Untrusted("python"), Untrusted("train.py")}, l, finding, id,
                                std::move(change));
  if (std::string(finding) == "compute.sync_points") a.findings[0].where = {};
  advise(a, "before.stallprof");
  return a;
}

}  // namespace

TEST_CASE("every advice about a device has words, and its finding a page that says how it fires") {
  const struct {
    const char *finding, *advice;
  } kAll[] = {{"load.pageable_copy", "pin_memory"},
              {"load.transfer_bandwidth", "copy_fewer_bytes"},
              {"load.pin_thread", "copy_fewer_bytes"},
              {"compute.device_bound", "faster_device_work"},
              {"compute.launch_bound", "compile_step"},
              {"compute.launch_bound", "larger_batch"},
              {"compute.host_work", "move_host_work"},
              {"compute.sync_points", "fewer_syncs"},
              {"compute.underfilled", "fuse_kernels"},
              {"comm.collective_bound", "overlap_collectives"},
              {"comm.straggler_rank", "even_out_the_ranks"},
              {"comm.data_parallel", "one_process_a_device"},
              {"host.gpu_throttled", "cool_the_device"},
              {"host.gpu_shared", "own_device"}};
  for (const auto& [finding, id] : kAll) {
    INFO(finding << " " << id);
    CHECK_FALSE(with(finding, id, {"code", "x", "", ""}).findings[0].advice[0].text.empty());
    REQUIRE(explain(finding));
    CHECK(holds(std::string(*explain(finding)), "Fires when:"));
    CHECK_FALSE(holds(std::string(*explain(finding)), "is not detected"));
  }
}

TEST_CASE("pinning is one argument of the loader that was seen") {
  const Analysis a =
      with("load.pageable_copy", "pin_memory", {"loader_arg", "pin_memory", "False", "True"});
  const Advice& advice = a.findings[0].advice[0];
  for (const char* part : {"train.py:12", "non_blocking=True"}) CHECK(holds(advice.text, part));
  CHECK(advice.diff ==
        "- DataLoader(..., batch_size=32, num_workers=2, pin_memory=False)\n"
        "+ DataLoader(..., batch_size=32, num_workers=2, pin_memory=True)");
}

TEST_CASE("a larger batch is a changed number, where the number was seen") {
  const Analysis a =
      with("compute.launch_bound", "larger_batch", {"loader_arg", "batch_size", "32", "64"});
  CHECK(a.findings[0].advice[0].diff ==
        "- DataLoader(..., batch_size=32, num_workers=2)\n"
        "+ DataLoader(..., batch_size=64, num_workers=2)");
  const Analysis b =
      with("compute.launch_bound", "larger_batch", {"loader_arg", "batch_size", "", "twice"});
  CHECK(b.findings[0].advice[0].diff.empty());
}
