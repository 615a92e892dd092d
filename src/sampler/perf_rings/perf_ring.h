// SPDX-License-Identifier: MIT
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "sampler/perf_rings/ring_budget.h"

namespace stallprof {

// Pid, tid and time: with sample_id_all they end every record but a sample.
inline constexpr std::size_t kSampleId = 16;
// A record may reach its ring this much after its time stamp; younger ones wait for the next drain,
// so that the rings together are in order.
inline constexpr Nanos kSettled{500'000};

// A perf event of one CPU with the ring its records go to. The kernel writes, we read; a full ring
// drops records and says how many in a later one. One thread at a time.
class PerfRing {
 public:
  // The longest record there is: sizes are 16 bits, multiples of 8.
  static constexpr std::size_t kMaxRecord = 1u << 16;

  PerfRing() = default;
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  ~PerfRing();

  // errno of open() where the event may be had and memory for its ring may not.
  static constexpr int kNoLockedMemory = ENOBUFS;
  // Likewise, where the budget is used up.
  static constexpr int kOverBudget = EDQUOT;

  // With `dataPages`, or half of that and so on down to `minimum` where the budget, or an ordinary
  // user's share of locked memory, is used up. The budget outlives the ring. False leaves errno.
  bool open(const perf_event_attr& attributes, pid_t target, int cpu, std::size_t dataPages,
            std::size_t minimum, RingBudget& budget);

  // Another task's event on the same CPU, into the same ring. False leaves errno.
  bool add(const perf_event_attr& attributes, pid_t target, int cpu);

  // Calls `take(std::span<const std::uint8_t>)` for each whole record, its ring wrap undone. The
  // span is valid during the call.
  template <class Take>
  void drain(std::span<std::uint8_t, kMaxRecord> scratch, Take&& take) {
    auto* meta = static_cast<perf_event_mmap_page*>(pages_);
    const auto* data = static_cast<const std::uint8_t*>(pages_) + meta->data_offset;
    const std::uint64_t size = meta->data_size,
                        head = __atomic_load_n(&meta->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = meta->data_tail;
    if (size == 0 || head == tail) return;
    while (tail + sizeof(perf_event_header) <= head) {
      copy(data, size, tail, scratch.first(sizeof(perf_event_header)));
      const std::size_t bytes = scratch[6] | std::size_t{scratch[7]} << 8;  // header.size
      if (bytes < sizeof(perf_event_header) || tail + bytes > head) break;
      copy(data, size, tail, scratch.first(bytes));
      take(std::span<const std::uint8_t>(scratch.first(bytes)));
      tail += bytes;
    }
    __atomic_store_n(&meta->data_tail, tail, __ATOMIC_RELEASE);
  }

  [[nodiscard]] std::size_t events() const { return 1 + more_.size(); }  // opened

  // Of the opened events alone, from now on: what inherited them keeps its period.
  void setPeriod(Nanos period) const;

  // The event of every descendant that inherited it, too.
  void enable(bool on) const;

 private:
  static void copy(const std::uint8_t* data, std::uint64_t size, std::uint64_t from,
                   std::span<std::uint8_t> into);
  [[nodiscard]] bool map(std::size_t dataPages, RingBudget& budget);

  Fd fd_;
  std::vector<Fd> more_;          // the events of other tasks
  RingBudget* budget_ = nullptr;  // that its pages are of
  void* pages_ = nullptr;
  std::size_t bytes_ = 0;
};

// Why perf_event_open, or PerfRing::open(), failed with `error`, and what would permit it; `shows`:
// what would be seen then ("would name native functions").
[[nodiscard]] std::string perfRefusal(int error, const std::string& shows);

// Moves what happened until `settled` to the end of `records`, in order of time: no ring will bring
// anything older.
template <class Record>
void takeSettled(std::vector<Record>& waiting, Nanos settled, std::vector<Record>& records) {
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const Record& a, const Record& b) { return a.at < b.at; });
  const auto young =
      std::find_if(waiting.begin(), waiting.end(), [&](const Record& r) { return r.at > settled; });
  records.insert(records.end(), std::make_move_iterator(waiting.begin()),
                 std::make_move_iterator(young));
  waiting.erase(waiting.begin(), young);
}

}  // namespace stallprof
