// SPDX-License-Identifier: MIT
// The only file that knows libpfm4: events of CPUs by name.
#include <perfmon/pfmlib_perf_event.h>

#include <array>

#include "sampler/perf/counter_codes.h"

namespace stallprof {
namespace {

// The kernel's own names come first: they mean the same on every CPU.
struct CounterRequest {
  const char* name;
  std::array<const char*, 4> events;  // the first that is known; null: no more
};
// Scaled to operations by whoever reads them: see analysis/describe/counters.cpp.
constexpr CounterRequest kCounterRequests[] = {
    {"cycles", {"CYCLES", "UNHALTED_CORE_CYCLES", "CYCLES_NOT_IN_HALT"}},
    {"instructions", {"INSTRUCTIONS", "INSTRUCTION_RETIRED", "RETIRED_INSTRUCTIONS"}},
    {"llc_misses", {"CACHE-MISSES", "LONGEST_LAT_CACHE:MISS", "LLC_MISSES"}},
    {"stalled_cycles",
     {"STALLED-CYCLES-BACKEND", "CYCLE_ACTIVITY:STALLS_TOTAL", "UOPS_ISSUED:STALL_CYCLES"}},
    // AMD counts operations, Intel instructions by their width.
    {"fp_operations", {"RETIRED_SSE_AVX_FLOPS:ANY"}},
    {"fp_scalar_single", {"FP_ARITH_INST_RETIRED:SCALAR_SINGLE", "FP_ARITH:SCALAR_SINGLE"}},
    {"fp_scalar_double", {"FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", "FP_ARITH:SCALAR_DOUBLE"}},
    {"fp_128_single", {"FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE", "FP_ARITH:128B_PACKED_SINGLE"}},
    {"fp_128_double", {"FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", "FP_ARITH:128B_PACKED_DOUBLE"}},
    {"fp_256_single", {"FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", "FP_ARITH:256B_PACKED_SINGLE"}},
    {"fp_256_double", {"FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE", "FP_ARITH:256B_PACKED_DOUBLE"}},
    {"fp_512_single", {"FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE", "FP_ARITH:512B_PACKED_SINGLE"}},
    {"fp_512_double", {"FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", "FP_ARITH:512B_PACKED_DOUBLE"}},
};

bool encode(const char* event, CounterCode& code) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  pfm_perf_encode_arg_t wanted{};
  wanted.attr = &attr;
  wanted.size = sizeof wanted;
  if (pfm_get_os_event_encoding(event, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &wanted) !=
      PFM_SUCCESS)
    return false;
  code.type = attr.type;
  code.config = attr.config;
  code.config1 = attr.config1;
  code.config2 = attr.config2;
  return true;
}

}  // namespace

std::vector<CounterCode> counterCodes() {
  std::vector<CounterCode> codes;
  if (pfm_initialize() != PFM_SUCCESS) return codes;
  for (const CounterRequest& request : kCounterRequests)
    for (const char* event : request.events) {
      CounterCode code;
      if (event == nullptr || !encode(event, code)) continue;
      code.name = request.name;
      codes.push_back(std::move(code));
      break;
    }
  pfm_terminate();
  return codes;
}

}  // namespace stallprof
