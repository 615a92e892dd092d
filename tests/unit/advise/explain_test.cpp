// SPDX-License-Identifier: MIT
#include "advise/explain.h"

#include <algorithm>
#include <string>

#include "tests/catch.h"

using namespace stallprof;

namespace {

// The ids of the design's table of findings.
constexpr std::string_view kIds[] = {"extract.storage_bandwidth",
                                     "extract.random_access",
                                     "extract.small_files",
                                     "extract.remote_latency",
                                     "extract.page_faults",
                                     "extract.cold_cache",
                                     "transform.in_process",
                                     "transform.too_few_workers",
                                     "transform.cpu_saturated",
                                     "transform.slow_op",
                                     "transform.gil_bound",
                                     "transform.oversubscribed",
                                     "transform.stragglers",
                                     "load.ipc",
                                     "load.no_prefetch",
                                     "load.pageable_copy",
                                     "load.transfer_bandwidth",
                                     "load.pin_thread",
                                     "load.worker_startup",
                                     "load.worker_memory",
                                     "compute.device_bound",
                                     "compute.cpu_bound",
                                     "compute.launch_bound",
                                     "compute.sync_points",
                                     "compute.underfilled",
                                     "compute.python_overhead",
                                     "compute.contention",
                                     "comm.collective_bound",
                                     "comm.straggler_rank",
                                     "comm.rank_imbalance",
                                     "comm.data_parallel",
                                     "periodic.checkpoint",
                                     "periodic.evaluation",
                                     "periodic.logging",
                                     "periodic.gc",
                                     "host.memory_pressure",
                                     "host.cpu_throttled",
                                     "host.noisy_neighbour",
                                     "host.gpu_throttled"};

}  // namespace

TEST_CASE("every finding of the design has a page with its rule, fixes and limits") {
  for (const auto id : kIds) {
    CAPTURE(id);
    const auto page = explain(id);
    REQUIRE(page);
    CHECK(page->starts_with(id));
    CHECK(page->find("Fires when:") != std::string_view::npos);
    CHECK(page->find("Fixes:") != std::string_view::npos);
    CHECK(page->find("When it is wrong:") != std::string_view::npos);
    const auto lines = std::count(page->begin(), page->end(), '\n');
    CHECK(lines >= 8);
    CHECK(lines <= 20);
  }
  CHECK(explainedIds().size() == std::size(kIds));
}

TEST_CASE("pages fit a terminal of 100 columns in plain ASCII") {
  for (const auto id : explainedIds()) {
    CAPTURE(id);
    const std::string page(explain(id).value_or(""));
    std::size_t column = 0, widest = 0;
    bool plain = true;
    for (const char c : page) {
      column = c == '\n' ? 0 : column + 1;
      widest = std::max(widest, column);
      plain = plain && (c == '\n' || (c >= ' ' && c <= '~'));
    }
    CHECK(widest <= 100);
    CHECK(plain);
  }
}

TEST_CASE("an unknown id has no page") {
  CHECK_FALSE(explain("transform.nothing"));
  CHECK_FALSE(explain(""));
}
