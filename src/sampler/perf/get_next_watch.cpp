// SPDX-License-Identifier: MIT
#include "sampler/perf/get_next_watch.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "sampler/proc/proc_file.h"
#include "sampler/python/runtime/elf_image.h"
#include "sampler/python/runtime/runtime_locator.h"

namespace stallprof {
namespace {

using python::ElfImage;
using python::Mapping;

// Exported under these names from TensorFlow 2.2 to 2.21 (checked in 2.21).
constexpr std::string_view kGetNext =
    "_ZN10tensorflow4data16IteratorResource7GetNextEPNS_15OpKernelContextEPSt6vectorINS_"
    "6TensorESaIS5_EEPb";
constexpr std::string_view kOperations[] = {
    "_ZN10tensorflow4data17IteratorGetNextOp9DoComputeEPNS_15OpKernelContextE",
    "_ZN10tensorflow4data27IteratorGetNextAsOptionalOp9DoComputeEPNS_15OpKernelContextE"};
constexpr std::string_view kWorkerLoop = "_ZN10tensorflow4data16BackgroundWorker10WorkerLoopEv";
// Before 2.13 all of it is in one extension module.
constexpr std::string_view kFiles[] = {"libtensorflow_cc.so", "libtensorflow_framework.so",
                                       "_pywrap_tensorflow_internal"};

// 4 KB lie between a get-next and its thread's start in the plainest pipeline; each stage that
// calls another's get-next adds some hundred bytes.
constexpr std::size_t kStackBytes = 16384, kPage = 4096;
// From a worker's loop inwards to a get-next's own frame: 1 KB in 2.21.
constexpr std::size_t kWorkerBytes = 4096;
// TensorFlow is imported some time after the start. Reading a process's maps takes 0.1 to 1 ms, and
// a job may have hundreds: less and less often.
constexpr Nanos kRecheck = std::chrono::seconds(5), kRarestCheck = std::chrono::seconds(40);
// TensorFlow's pools have more threads than this that wait, PyTorch's workers fewer.
constexpr std::size_t kMinThreads = 4;
constexpr std::size_t kMaxWatched = 1024, kMaxThreads = 16384, kMaxPlaces = 16;
// A place known to be outside is read again at every so many meetings: another call may
// happen to wait at the same depth.
constexpr unsigned kTrusted = 32;
constexpr std::size_t kMapsBytes = 8u << 20;

bool isTensorFlow(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::any_of(std::begin(kFiles), std::end(kFiles),
                     [&](std::string_view file) { return name.starts_with(file); });
}

// The words above `stack`, as many as can be read.
std::span<const std::uint64_t> readStack(python::RemoteMemory& memory, std::uint64_t stack,
                                         std::array<std::uint64_t, kStackBytes / 8>& into) {
  std::array<python::RemoteSpan, kStackBytes / kPage + 1> spans;
  auto* bytes = reinterpret_cast<std::uint8_t*>(into.data());
  std::size_t count = 0, at = 0;
  stack &= ~std::uint64_t{7};
  while (at < kStackBytes && count < spans.size()) {  // up to a page's end: the stack ends at one
    const std::size_t part = std::min(kPage - (stack + at) % kPage, kStackBytes - at);
    spans[count++] = {stack + at, bytes + at, part};
    at += part;
  }
  const std::size_t read = memory.read({spans.data(), count});
  std::size_t got = 0;
  for (std::size_t i = 0; i < std::min(read, count); ++i) got += spans[i].bytes;
  return {into.data(), got / 8};
}

}  // namespace

GetNextCode::Found GetNextCode::scan(std::span<const std::uint64_t> words) const {
  const auto isOf = [&](std::uint64_t word) {
    return std::any_of(operations.begin(), operations.end(),
                       [&](const Range& r) { return r.has(word); });
  };
  bool getting = false;
  Found found;
  for (std::size_t i = 0; i < words.size() && !found.dedicated; ++i) {
    getting = getting || getNext.has(words[i]);
    if (getting && !found.inside && isOf(words[i])) {
      found.inside = true;
      found.operation = i;
    }
    if (worker.has(words[i])) {
      found.dedicated = true;
      found.loop = i;
    }
  }
  return found;
}

void GetNextWorker::learn(const GetNextCode::Found& found, std::span<const std::uint64_t> words,
                          std::uint64_t stack, std::span<const GetNextCode::Range> library) {
  if (!found.dedicated) return;
  loop = stack + found.loop * 8;
  if (!found.inside) {
    idle = words[found.loop];
    return;
  }
  const std::uint64_t first = stack + found.operation * 8;
  if (!marks.empty() && marks.front().at == first && marks.back().at == loop) {
    std::erase_if(marks, [&](const Word& w) { return words[(w.at - stack) / 8] != w.is; });
    if (!marks.empty()) return;
  }
  marks.clear();
  for (std::size_t i = found.operation; i <= found.loop; ++i)
    if (std::any_of(library.begin(), library.end(), [&](auto& r) { return r.has(words[i]); }))
      marks.push_back({stack + i * 8, words[i]});
}

std::uint64_t GetNextWorker::begin() const {
  return marks.empty() || loop - marks.front().at > kWorkerBytes ? loop - kWorkerBytes
                                                                 : marks.front().at;
}

bool GetNextWorker::inside(const GetNextCode& code, std::span<const std::uint64_t> words) const {
  if (words.empty() || words.size() * 8 != loop - begin() + 8) return false;
  // Woken, and without a CPU so far: there is an element to be got.
  if (idle != 0 && words.back() == idle) return true;
  if (marks.empty()) return code.scan(words).inside;
  return std::all_of(marks.begin(), marks.end(), [&](const Word& w) {
    return w.at < begin() || words[(w.at - begin()) / 8] == w.is;
  });
}

GetNextCode getNextCodeOf(const std::string& root, std::uint32_t pid,
                          std::vector<GetNextCode::Range>& library) {
  GetNextCode code;
  library.clear();
  std::string_view last;
  const std::string text = contentOf(processPath(root, pid, "maps"), kMapsBytes);
  const std::vector<Mapping> maps = python::parseMaps(text);
  for (const Mapping& map : maps) {
    if (map.deleted || !isTensorFlow(map.path)) continue;
    library.push_back({map.start, map.end});
    if (map.path == last) continue;
    last = map.path;
    auto image = ElfImage::open(openMapped(root, pid, map.path, map.inode));
    const auto bias = image ? image->bias(map.start, map.offset) : std::nullopt;
    if (!bias) continue;
    const auto range = [&](std::string_view name) {
      const auto extent = image->extent(name);
      return extent ? GetNextCode::Range{*bias + extent->address,
                                         *bias + extent->address + extent->bytes}
                    : GetNextCode::Range{};
    };
    if (const auto found = range(kGetNext); found.end != 0) code.getNext = found;
    if (const auto found = range(kWorkerLoop); found.end != 0) code.worker = found;
    for (const std::string_view name : kOperations)
      if (const auto found = range(name); found.end != 0) code.operations.push_back(found);
  }
  return code;
}

struct GetNextWatch::Process {
  std::optional<python::ProcessMemory> memory;  // a descriptor: only where the code is known
  GetNextCode code;
  std::vector<GetNextCode::Range> mapped;  // of TensorFlow's library
  Nanos next{};                            // when to search for TensorFlow again
  Nanos every = kRecheck;
  [[nodiscard]] bool has() const { return !mapped.empty(); }
  [[nodiscard]] bool blind() const { return has() && !code.known(); }
  std::unordered_map<std::uint32_t, Thread> threads;  // by tid
};

GetNextWatch::GetNextWatch(std::string root) : root_(std::move(root)) {}
GetNextWatch::~GetNextWatch() = default;

void GetNextWatch::examine(Process& process, std::uint32_t pid, Nanos now) {
  if (process.threads.size() < kMinThreads) return;
  process.next = now + process.every;
  process.every = std::min(process.every * 2, kRarestCheck);
  // While TensorFlow is being imported only some of it is there.
  found_ -= process.has();
  blind_ -= process.blind();
  process.code = getNextCodeOf(root_, pid, process.mapped);
  found_ += process.has();
  blind_ += process.blind();
}

bool GetNextWatch::blockedInside(ProcessId id, std::uint32_t pid, std::uint32_t tid,
                                 std::uint64_t stack, Nanos now) {
  if (stack == 0 || !isLive(root_)) return false;
  if (processes_.size() >= kMaxWatched && !processes_.contains(id)) {
    // One with TensorFlow is counted: examined again it would count twice.
    std::erase_if(processes_, [](const auto& entry) { return !entry.second->has(); });
    if (processes_.size() >= kMaxWatched) return false;
  }
  auto& process = processes_[id];
  if (!process) process = std::make_unique<Process>();
  const bool known = process->code.known();
  if (!known && now < process->next) return false;
  if (process->threads.size() >= kMaxThreads) process->threads.clear();
  Thread& thread = process->threads[tid];
  if (!known) examine(*process, pid, now);
  if (!process->code.known()) return false;
  const auto place = std::find_if(thread.outside.begin(), thread.outside.end(),
                                  [&](const Place& p) { return p.stack == stack; });
  const bool met = place != thread.outside.end();
  if (met && ++place->met % kTrusted != 0) return false;
  if (!process->memory) process->memory.emplace(pid);
  std::array<std::uint64_t, kStackBytes / 8> buffer;
  const auto words = readStack(*process->memory, stack, buffer);
  const auto found = process->code.scan(words);
  thread.worker.learn(found, words, stack & ~std::uint64_t{7}, process->mapped);
  if (found.inside && met) thread.outside.erase(place);
  if (!found.inside && !met) {
    if (thread.outside.size() >= kMaxPlaces) thread.outside.clear();
    thread.outside.push_back({stack, 0});
  }
  return found.inside;
}

bool GetNextWatch::runsInside(ProcessId id, std::uint32_t tid) {
  if (found_ == 0) return false;
  const auto process = processes_.find(id);
  if (process == processes_.end() || !process->second->memory) return false;
  const auto thread = process->second->threads.find(tid);
  if (thread == process->second->threads.end()) return false;
  const GetNextWorker& worker = thread->second.worker;
  if (worker.loop < kWorkerBytes) return false;
  std::array<std::uint64_t, kWorkerBytes / 8 + 1> words;
  const std::size_t count = (worker.loop - worker.begin()) / 8 + 1;
  return process->second->memory->readBytes(worker.begin(), words.data(), count * 8) &&
         worker.inside(process->second->code, {words.data(), count});
}

void GetNextWatch::keep(const std::vector<LiveProcess>& alive) {
  if (processes_.empty()) return;
  std::unordered_set<ProcessId> kept;
  for (const LiveProcess& process : alive) kept.insert(process.id);
  std::erase_if(processes_, [&](const auto& entry) { return !kept.contains(entry.first); });
}

void GetNextWatch::report(Nanos now, EventOut& out) {
  if (found_ == reportedFound_ && blind_ == reportedBlind_) return;
  reportedFound_ = found_;
  reportedBlind_ = blind_;
  emitSource(out, now, "tfdata_get_next",
             blind_ == 0       ? Coverage::kFull
             : blind_ < found_ ? Coverage::kPartial
                               : Coverage::kAbsent,
             blind_ == 0 ? ""
                         : "TensorFlow's library does not name its functions: the time a compiled "
                           "step sleeps is recorded as other, for it may wait for data");
}

}  // namespace stallprof
