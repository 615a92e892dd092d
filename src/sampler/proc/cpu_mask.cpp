// SPDX-License-Identifier: MIT
#include "sampler/proc/cpu_mask.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {

CpuMask parseCpuList(std::string_view list) {
  CpuMask mask;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view range = list.substr(0, comma);
    const std::size_t dash = range.find('-');
    const auto first = parseNumber(range);
    const auto last = dash == std::string_view::npos ? first : parseNumber(range.substr(dash + 1));
    if (first && last)
      for (std::int64_t cpu = std::max<std::int64_t>(*first, 0);
           cpu <= std::min<std::int64_t>(*last, kMaxCpus - 1); ++cpu)
        mask.set(static_cast<std::size_t>(cpu));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return mask;
}

CpuMask allowedInStatus(std::string_view status) {
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  CpuMask mask;
  forEachLine(status, [&](std::string_view line) {
    if (line.starts_with(kKey)) mask = parseCpuList(line.substr(kKey.size()));
  });
  return mask;
}

// The system call and not glibc's wrapper: that clears what the kernel did not write, which for a
// mask of 1 KiB costs as much as the call.
std::optional<CpuMask> affinityOf(pid_t thread) {
  std::array<unsigned long, kMaxCpus / (8 * sizeof(unsigned long))> words{};
  const long bytes = ::syscall(SYS_sched_getaffinity, thread, sizeof words, words.data());
  if (bytes <= 0) return std::nullopt;
  CpuMask mask;
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / sizeof(unsigned long); ++i)
    for (std::size_t bit = 0; words[i] >> bit != 0; ++bit) {
      if ((words[i] >> bit & 1) != 0) mask.set(i * kBits + bit);
      if (bit + 1 == kBits) break;
    }
  return mask;
}

CpuMask onlineCpus(const std::string& root) {
  CpuMask online = parseCpuList(contentOf(under(root, "sys/devices/system/cpu/online"), 4096));
  const long count = online.none() ? std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)) : 0;
  for (long cpu = 0; cpu < std::min<long>(count, kMaxCpus); ++cpu)
    online.set(static_cast<std::size_t>(cpu));
  return online;
}

std::vector<int> eventCpus(const CpuMask& online, const CpuMask& allowed) {
  std::vector<int> cpus;
  for (std::size_t cpu = 0; cpu < kMaxCpus; ++cpu)
    if (online.test(cpu) || allowed.test(cpu)) cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

std::vector<int> eventCpus(pid_t thread) {
  return eventCpus(onlineCpus(), affinityOf(thread).value_or(CpuMask()));
}

}  // namespace stallprof
