// SPDX-License-Identifier: MIT
#include "sampler/python/tid_map.h"

#include <utility>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof::python {
namespace {

constexpr std::size_t kMaxMapped = 8192;

// Of a status file, how many pid namespaces the task is in, and its number in the innermost.
std::pair<std::size_t, std::uint32_t> innerNumber(const std::string& status) {
  const auto words = wordsOf(status, "NSpid:");
  if (words.empty()) return {1, 0};
  return {words.size(), static_cast<std::uint32_t>(parseNumber(words.back()).value_or(0))};
}

}  // namespace

void TidMap::read(const std::string& root, std::uint32_t pid) {
  same_ = innerNumber(contentOf(processPath(root, pid, "status"), 8192)).first <= 1;
  hostTids_.clear();
  if (same_) return;
  forEachNumber(processPath(root, pid, "task"), [&](std::uint32_t tid) {
    if (hostTids_.size() < kMaxMapped)
      hostTids_[innerNumber(contentOf(threadPath(root, pid, tid, "status"), 8192)).second] = tid;
  });
}

std::uint32_t TidMap::hostTid(std::uint32_t tid) const {
  if (same_) return tid;
  const auto found = hostTids_.find(tid);
  return found == hostTids_.end() ? 0 : found->second;
}

}  // namespace stallprof::python
