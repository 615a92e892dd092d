// SPDX-License-Identifier: MIT
#include "advise/catalogue.h"

namespace stallprof {

std::string extractText(const AdviceContext& c) {
  const std::string& id = c.advice.id;
  const bool storage = c.finding.phase == Phase::kExtract;
  if (id == "more_workers" && storage && c.advice.change.from != "0")
    return "Raise " + settingOf(c, "num_workers") + " from " + c.advice.change.from + " to " +
           c.advice.change.to + atSetting(c) +
           ": the workers are blocked, not computing, so more of them overlap more reads.";
  if (id == "cache_in_ram" && c.advice.change.to == "tmpfs")
    return "Copy the data set to a tmpfs and read it there, or hold it in the program's own "
           "memory: "
           "the page cache does not keep what is read here (O_DIRECT, or a cache that is full).";
  if (id == "cache_in_ram")
    return "Keep the data set in memory: copy it to a tmpfs, or read it once before training "
           "(`cat FILES > /dev/null`) so that the page cache holds it.";
  if (id == "sequential_shards")
    return "Pack the samples into large files that are read from front to back (WebDataset, "
           "TFRecord, Arrow, LMDB), at 100 MB and more a shard.";
  if (id == "faster_storage")
    return "Copy the data set to faster storage, such as a local SSD, before training.";
  if (id == "fewer_bytes")
    return "Store the samples in fewer bytes: uint8 instead of float32 is a quarter (what is "
           "predicted here), or resize or compress the originals.";
  if (id == "read_ahead")
    return "Bring the pages in before they are touched: madvise(WILLNEED) or SEQUENTIAL on the "
           "mapping, np.load without mmap_mode for files that fit, lmdb.open(readahead=True) for "
           "sequential reading; or read records instead of mapping them.";
  if (id == "local_copy")
    return "Copy or cache the data on this host before training; a streaming reader with a local "
           "cache does it during the first pass.";
  return {};
}

}  // namespace stallprof
