// SPDX-License-Identifier: MIT
// What the recorder pays for a device record, and what device data takes of a recording. A process
// at 10,000 kernels a second (each with its launch call) and one at 500,000, through the whole of
// the recorder's side: memory, walk, clocks, union, totals, and the encoding to bytes.
//   ninja bench_activity && bin/bench_activity
#include "recording/activity/activity.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "activity_writer.h"
#include "base/fd.h"
#include "base/time.h"
#include "event/strings.h"
#include "recording/format/segment_encoder.h"

namespace {

using namespace stallprof;
using testing::AreaWriter;
using testing::CuptiBytes;

constexpr std::uint64_t kEpoch = 1'700'000'000'000'000'000u, kSecond = 1'000'000'000;

// Encodes what comes, as the writer does, and counts it by kind.
struct Counter final : EventOut {
  Strings strings;
  std::vector<std::uint32_t> local;
  std::string frame;
  Nanos previous{};
  std::size_t bytes = 0, events = 0, byKind[256] = {}, bytesOfKind[256] = {};

  StringId intern(std::string_view text) override {
    const StringId id = strings.intern(text);
    while (local.size() < id.value) {
      local.push_back(static_cast<std::uint32_t>(local.size()) + 1);
      bytes += text.size() + 4;
    }
    return id;
  }
  void put(const Event& event) override {
    frame.clear();
    encodeEvent(event, previous, local, frame);
    previous = event.at;
    bytes += frame.size();
    ++events;
    std::visit(
        [&](const auto& p) {
          ++byKind[p.kKind];
          bytesOfKind[p.kKind] += frame.size();
        },
        event.payload);
  }
};

struct Load {
  const char* what;
  std::uint64_t perSecond, seconds, busyNs, names;
};

double run(const Load& load) {
  // The memory says when it was made; the load is of the past, so its times are moved behind that.
  auto memory = std::move(ActivityMemory::create()).value();
  AreaWriter agent(memory->path(static_cast<std::uint32_t>(::getpid())));
  const auto base = static_cast<std::uint64_t>(now().count());
  agent.claim(42, 1);
  agent.pair(base, kEpoch);
  agent.turn(base, 7);
  std::vector<std::uint32_t> names;
  for (std::uint64_t i = 0; i < load.names; ++i)
    names.push_back(
        agent.name(0x7f0000000000 + i, "_ZN2at6native" + std::to_string(i) + std::string(80, 'k')));
  const EventMemory::Identities identities{
      [](std::uint32_t pid, std::uint64_t) { return ProcessId{pid}; },
      [](ProcessId, std::uint32_t tid) { return ThreadId{tid}; },
      [](std::uint32_t, std::uint64_t) { return false; }};
  Counter out;
  Nanos spent{};
  std::uint64_t records = 0;
  const std::uint64_t step = kSecond / load.perSecond;
  const auto drain = [&](std::uint64_t at) {
    const Nanos before = processCpu();
    memory->drain(Nanos(static_cast<std::int64_t>(base + at)), identities, out);
    spent += processCpu() - before;
  };
  for (std::uint64_t second = 0; second < load.seconds; ++second) {
    CuptiBytes bytes(130000);
    for (std::uint64_t i = 0; i < load.perSecond; ++i) {
      const std::uint64_t at = kEpoch + second * kSecond + i * step;
      bytes.call({at, at + 3000}, 211, 43, false, static_cast<std::uint32_t>(i));
      bytes.kernel({at + 5000, at + 5000 + load.busyNs}, names[(i * 7) % names.size()],
                   static_cast<std::uint32_t>(7 + i % 2), 0, static_cast<std::uint32_t>(i));
      records += 2;
      if (bytes.bytes().size() + 512 <= STALLPROF_ACTIVITY_BUFFER_BYTES && i + 1 < load.perSecond)
        continue;
      agent.full(bytes);
      bytes = CuptiBytes(130000);
      if (agent.area().buffer[20].state == STALLPROF_BUFFER_FULL)
        drain(second * kSecond + i * step);
    }
    agent.pair(base + (second + 1) * kSecond, kEpoch + (second + 1) * kSecond);
    agent.flushed(base + (second + 1) * kSecond);
    drain((second + 1) * kSecond);
  }
  const double ns = static_cast<double>(spent.count()) / static_cast<double>(records);
  std::printf("%-28s %9llu records  %5.1f ns CPU a record  %6.1f MB/h\n", load.what,
              static_cast<unsigned long long>(records), ns,
              static_cast<double>(out.bytes) / static_cast<double>(load.seconds) * 3600e-6);
  for (const int kind : {41, 42, 43, 44, 45, 46})
    if (out.byKind[kind] > 0)
      std::printf(
          "    kind %d: %zu events of %.1f bytes\n", kind, out.byKind[kind],
          static_cast<double>(out.bytesOfKind[kind]) / static_cast<double>(out.byKind[kind]));
  return ns;
}

// What giving a buffer back costs: written over with zeros, or punched out and faulted in again by
// the job's thread that writes to it next.
void zeroing() {
  constexpr std::size_t kBytes = STALLPROF_ACTIVITY_BUFFER_BYTES;
  Fd fd(::memfd_create("bench", MFD_CLOEXEC));
  if (::ftruncate(fd.get(), kBytes) != 0) return;
  auto* job =
      static_cast<char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  const std::string zeros(kBytes, '\0');
  constexpr int kRounds = 400;
  for (const bool punch : {false, true}) {
    Nanos recorder{}, writer{};
    for (int i = 0; i < kRounds; ++i) {
      const Nanos a = processCpu();
      for (std::size_t at = 0; at < kBytes; at += 64) job[at] = 1;
      const Nanos b = processCpu();
      if (punch)
        (void)::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes);
      else
        (void)!::pwrite(fd.get(), zeros.data(), kBytes, 0);
      recorder += processCpu() - b;
      writer += b - a;
    }
    std::printf("%-28s recorder %5.1f us, job's thread %5.1f us a buffer\n",
                punch ? "punched out" : "written over",
                static_cast<double>(recorder.count()) / kRounds / 1e3,
                static_cast<double>(writer.count()) / kRounds / 1e3);
  }
}

}  // namespace

int main() {
  run({"10,000 kernels/s, dense", 10'000, 120, 90'000, 60});
  run({"10,000 kernels/s, 60 us gaps", 10'000, 120, 40'000, 60});
  run({"200,000 kernels/s", 200'000, 10, 4'000, 200});
  run({"500,000 kernels/s", 500'000, 4, 1'500, 2'000});
  zeroing();
  return 0;
}
