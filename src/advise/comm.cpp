// SPDX-License-Identifier: MIT
#include "advise/catalogue.h"

namespace stallprof {

std::string commText(const AdviceContext& c) {
  const std::string& id = c.advice.id;
  if (id == "overlap_collectives")
    return "Hide the collectives behind the backward pass: DistributedDataParallel with larger "
           "buckets (bucket_cap_mb), gradients in bf16 (a communication hook), or fewer of them "
           "(accumulate gradients under no_sync()).";
  if (id == "even_out_the_ranks")
    return "Look at that process alone: its batches (bucket by length, even shards), its device's "
           "clocks, its cores. The others wait for it in every step.";
  if (id == "balance_batches")
    return "Give the ranks batches of like cost in each step: bucket by length, or let a sampler "
           "deal them out by size; and see that none of them waits for its data now and then.";
  if (id == "one_process_a_device")
    return "Replace DataParallel by DistributedDataParallel, one process a device, started with "
           "torchrun: one process's Python then drives one device.";
  return {};
}

}  // namespace stallprof
