// SPDX-License-Identifier: MIT
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "agent/nvtx/nvtx_abi.h"
#include "recording/memory/event_memory.h"
#include "tests/catch.h"
#include "tests/unit/recording/job_memory.h"

extern "C" int InitializeInjectionNvtx2(stallprof::agent::NvtxGetExportTable get);
extern "C" int InitializeInjectionNvtxExtension(stallprof::agent::NvtxModuleInfo* module);

namespace stallprof::agent {
namespace {

// ---- what NVTX's headers are to a program: two tables of functions a tool may replace

NvtxFunction core[16], core2[16];
NvtxFunction *corePointers[16], *core2Pointers[16];

int tableOf(int module, NvtxFunctionTable* table, unsigned* size) {
  if (module != kNvtxCore && module != kNvtxCore2) return 0;
  for (int i = 0; i < 16; ++i) {
    corePointers[i] = &core[i];
    core2Pointers[i] = &core2[i];
  }
  *table = module == kNvtxCore ? corePointers : core2Pointers;
  *size = 16;
  return 1;
}

const void* exportTable(std::uint32_t id) {
  static const NvtxCallbacks callbacks{sizeof(NvtxCallbacks), tableOf};
  return id == kNvtxCallbacks ? &callbacks : nullptr;
}

template <class F, class... A>
auto call(NvtxFunction function, A... args) {
  REQUIRE(function != nullptr);
  return reinterpret_cast<F*>(function)(args...);
}
int push(const char* name) { return call<int(const char*)>(core[kRangePushA], name); }
int pop() { return call<int()>(core[kRangePop]); }

NvtxAttributes attributes(const char* name, std::uint32_t category = 0) {
  NvtxAttributes a{};
  a.version = 2;
  a.size = kNvtxAttributesBytes;
  a.category = category;
  a.messageType = kMessageAscii;
  a.message = name;
  return a;
}

// ---- the recorder's side

struct Recorder : testing::JobMemory {
  Recorder() { REQUIRE(InitializeInjectionNvtx2(exportTable) == 1); }
  std::vector<Event> drain() { return JobMemory::drain(); }
};

Recorder& recorder() { return testing::emptied<Recorder>(); }

TEST_CASE("a pushed range is an event when it is popped, with its depth") {
  Recorder& r = recorder();
  CHECK(push("step") == 0);
  CHECK(push("forward") == 1);
  CHECK(r.drain().empty());
  pop();
  pop();
  const auto events = r.drain();
  REQUIRE(events.size() == 2);
  const auto& inner = std::get<Range>(events[0].payload);
  const auto& outer = std::get<Range>(events[1].payload);
  CHECK(r.text(inner.name) == "forward");
  CHECK(r.text(outer.name) == "step");
  CHECK(inner.depth == 1);
  CHECK(outer.depth == 0);
  CHECK(inner.thread.value == static_cast<std::uint32_t>(gettid()));
  CHECK(events[1].at <= events[0].at);
  CHECK(events[0].at + inner.duration <= events[1].at + outer.duration);
  CHECK(inner.bytes == -1);
}

TEST_CASE("a range named as a phase is a span of that phase too") {
  Recorder& r = recorder();
  push("transform");
  pop();
  const auto events = r.drain();
  REQUIRE(events.size() == 2);
  const auto& span = std::get<PhaseSpan>(events[1].payload);
  CHECK(span.phase == Phase::kTransform);
  CHECK(span.source == SpanSource::kNvtx);
  CHECK(span.duration == std::get<Range>(events[0].payload).duration);
  push("transforms");
  pop();
  CHECK(r.drain().size() == 1);
}

TEST_CASE("domains have their own stacks, names and categories") {
  Recorder& r = recorder();
  void* nccl = call<void*(const char*)>(core2[kDomainCreateA], "NCCL");
  CHECK(call<void*(const char*)>(core2[kDomainCreateA], "NCCL") == nccl);
  call<void(void*, std::uint32_t, const char*)>(core2[kDomainNameCategoryA], nccl, 7, "collective");
  void* reduce = call<void*(void*, const char*)>(core2[kDomainRegisterStringA], nccl, "AllReduce");
  NvtxAttributes a = attributes("", 7);
  a.messageType = kMessageRegistered;
  a.message = reduce;
  using Push = int(void*, const NvtxAttributes*);
  push("step");
  CHECK(call<Push>(core2[kDomainRangePushEx], nccl, &a) == 0);
  pop();  // the default domain's, below
  call<int(void*)>(core2[kDomainRangePop], nccl);
  const auto events = r.drain();
  REQUIRE(events.size() == 2);
  const auto& range = std::get<Range>(events[1].payload);
  CHECK(r.text(std::get<Range>(events[0].payload).name) == "step");
  CHECK(r.text(range.name) == "AllReduce");
  CHECK(r.text(range.domain) == "NCCL");
  CHECK(r.text(range.category) == "collective");
}

TEST_CASE("a name for each of very many steps stays a step's, and names that come later are kept") {
  Recorder& r = recorder();
  const auto registered = [](const std::string& text) {
    return call<void*(void*, const char*)>(core2[kDomainRegisterStringA], nullptr, text.c_str());
  };
  const auto nameOf = [&](void* handle) {
    NvtxAttributes a = attributes("", 0);
    a.messageType = kMessageRegistered;
    a.message = handle;
    call<int(void*, const NvtxAttributes*)>(core2[kDomainRangePushEx], nullptr, &a);
    pop();
    const auto events = r.drain();
    return std::string(r.text(std::get<Range>(events.at(0).payload).name));
  };
  CHECK(registered("step 7") == registered("step 7"));
  void* last = nullptr;
  for (int i = 0; i < 70'000; ++i) last = registered("step " + std::to_string(i));
  CHECK(nameOf(last) == "step");
  CHECK(nameOf(registered("step 7")) == "step 7");
  CHECK(nameOf(registered("evaluation")) == "evaluation");
}

// NCCL's parameters of a collective (2.28: src/init_nvtx.cc), and their schema.
struct AllReduce {
  std::uint64_t communicator;
  std::size_t bytes;
  std::uint32_t operation;
};
constexpr NvtxSchemaEntry kAllReduce[] = {
    {0, kEntryUint64, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr},
    {0, kEntrySize, "Message size [bytes]", nullptr, 0, offsetof(AllReduce, bytes), nullptr,
     nullptr},
    {0, 1 << 25, "Reduction operation", nullptr, 0, offsetof(AllReduce, operation), nullptr,
     nullptr}};

std::uint64_t registerSchema(void* domain, const NvtxSchemaEntry* entries, std::size_t count,
                             std::uint64_t id) {
  std::intptr_t slots[16] = {};
  NvtxSegment segment{0, 16, slots};
  NvtxModuleInfo module{
      3, sizeof(NvtxModuleInfo), kNvtxPayloadModule, 0x104, 1, &segment, nullptr, nullptr};
  REQUIRE(InitializeInjectionNvtxExtension(&module) == 1);
  REQUIRE(slots[kSchemaRegister] != 0);
  REQUIRE(slots[kDomainIsEnabled] != 0);
  NvtxSchema schema{};
  schema.mask = kSchemaEntries | (id != 0 ? kSchemaHasId : 0);
  schema.entries = entries;
  schema.count = count;
  schema.id = id;
  using Register = std::uint64_t(void*, const NvtxSchema*);
  return reinterpret_cast<Register*>(slots[kSchemaRegister])(domain, &schema);
}

std::int64_t bytesOf(Recorder& r, void* domain, const NvtxPayload* payloads, std::int32_t count) {
  NvtxAttributes a = attributes("ncclAllReduce");
  a.payloadType = kPayloadExtended;
  a.payloadCount = count;
  a.payload = reinterpret_cast<std::uint64_t>(payloads);
  using Push = int(void*, const NvtxAttributes*);
  call<Push>(core2[kDomainRangePushEx], domain, &a);
  call<int(void*)>(core2[kDomainRangePop], domain);
  const auto events = r.drain();
  REQUIRE(events.size() == 1);
  return std::get<Range>(events[0].payload).bytes;
}

TEST_CASE("the size of NCCL's message is in the range, as its schema says") {
  Recorder& r = recorder();
  void* nccl = call<void*(const char*)>(core2[kDomainCreateA], "NCCL");
  constexpr std::uint64_t kId = (1 << 24) + 8;
  CHECK(registerSchema(nccl, kAllReduce, 3, kId) == kId);
  const std::uint64_t own = registerSchema(nccl, kAllReduce, 3, 0);  // without an id of its own
  CHECK(own >= kDynamicSchemas);
  const AllReduce values{7, 4'000'000, 0};
  const NvtxPayload payload{kId, sizeof values, &values};
  CHECK(bytesOf(r, nccl, &payload, 1) == 4'000'000);
  const NvtxPayload dynamic{own, sizeof values, &values};
  CHECK(bytesOf(r, nccl, &dynamic, 1) == 4'000'000);
  const NvtxPayload both[] = {{kId + 1, 8, &values}, payload};
  CHECK(bytesOf(r, nccl, both, 2) == 4'000'000);
}

TEST_CASE("a payload that is not what its schema says has no bytes, and is not read") {
  Recorder& r = recorder();
  void* domain = call<void*(const char*)>(core2[kDomainCreateA], "elsewhere");
  constexpr std::uint64_t kId = (1 << 24) + 8;
  const AllReduce values{7, 4'000'000, 0};
  const NvtxPayload unknown{kId, sizeof values, &values};
  CHECK(bytesOf(r, domain, &unknown, 1) == -1);  // another domain's schema
  registerSchema(domain, kAllReduce, 3, kId);
  for (const NvtxPayload& wrong :
       {NvtxPayload{kId, 8, &values}, NvtxPayload{kId, SIZE_MAX, &values},
        NvtxPayload{kId, sizeof values, nullptr}}) {
    CHECK(bytesOf(r, domain, &wrong, 1) == -1);
  }
  CHECK(bytesOf(r, domain, nullptr, 1) == -1);
  CHECK(bytesOf(r, domain, &unknown, 0) == -1);
  constexpr std::uint64_t kFar = kId + 1;
  NvtxSchemaEntry far[3];
  std::copy(std::begin(kAllReduce), std::end(kAllReduce), far);
  far[1].offset = 0xfffffff8;  // with its width it is 0 in 32 bits
  CHECK(registerSchema(domain, far, 3, kFar) == kFar);
  const NvtxPayload beyond{kFar, sizeof values, &values};
  CHECK(bytesOf(r, domain, &beyond, 1) == -1);
  const AllReduce huge{7, SIZE_MAX, 0};
  const NvtxPayload tooMuch{kId, sizeof huge, &huge};
  CHECK(bytesOf(r, domain, &tooMuch, 1) == -1);
}

TEST_CASE("an extension that is not the payloads' stays off") {
  std::intptr_t slots[16] = {};
  NvtxSegment segment{0, 16, slots};
  NvtxModuleInfo module{3, sizeof(NvtxModuleInfo), 5, 0x104, 1, &segment, nullptr, nullptr};
  CHECK(InitializeInjectionNvtxExtension(&module) == 1);
  CHECK(InitializeInjectionNvtxExtension(nullptr) == 1);
  for (const std::intptr_t slot : slots) CHECK(slot == 0);
}

TEST_CASE("a category without a name is its number") {
  Recorder& r = recorder();
  const NvtxAttributes a = attributes("x", 12);
  call<void(const NvtxAttributes*)>(core[kMarkEx], &a);
  const auto events = r.drain();
  REQUIRE(events.size() == 1);
  CHECK(r.text(std::get<Range>(events[0].payload).category) == "12");
  CHECK(std::get<Range>(events[0].payload).duration.count() == 0);
}

TEST_CASE("a started range may be ended by another thread, once") {
  Recorder& r = recorder();
  const auto id = call<std::uint64_t(const char*)>(core[kRangeStartA], "copy");
  const auto tid = static_cast<std::uint32_t>(gettid());
  const auto end = [&] { call<void(std::uint64_t)>(core[kRangeEnd], id); };
  std::thread(end).join();
  end();
  call<void(std::uint64_t)>(core[kRangeEnd], std::uint64_t{0x123456789});
  const auto events = r.drain();
  REQUIRE(events.size() == 1);
  CHECK(std::get<Range>(events[0].payload).thread.value == tid);
}

TEST_CASE("wide names become UTF-8, and long ones are cut") {
  Recorder& r = recorder();
  call<int(const wchar_t*)>(core[kRangePushW], L"Größe \x1F680");
  pop();
  push(std::string(5000, 'a').c_str());
  pop();
  const auto events = r.drain();
  REQUIRE(events.size() == 2);
  CHECK(r.text(std::get<Range>(events[0].payload).name) == "Größe \xF0\x9F\x9A\x80");
  CHECK(r.text(std::get<Range>(events[1].payload).name) == std::string(191, 'a'));
}

TEST_CASE("pops without pushes, and pushes too deep, do no harm") {
  Recorder& r = recorder();
  pop();
  CHECK(r.drain().empty());
  for (int i = 0; i < 40; ++i) CHECK(push("deep") == i);
  for (int i = 0; i < 40; ++i) pop();
  std::size_t ranges = 0;
  for (const Event& event : r.drain()) ranges += std::holds_alternative<Range>(event.payload);
  CHECK(ranges == 32);
  CHECK(push("after") == 0);
  pop();
  CHECK(r.drain().size() == 1);
}

TEST_CASE("a forked child's ranges are its own") {
  Recorder& r = recorder();
  push("parent's");
  const pid_t child = fork();
  if (child == 0) {
    pop();  // its parent's: not the child's to end
    push("child's");
    pop();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  pop();
  std::map<std::string, std::uint32_t> threads;
  for (const Event& event : r.drain())
    if (const auto* range = std::get_if<Range>(&event.payload))
      threads[r.text(range->name)] = range->thread.value;
  CHECK(threads.size() == 2);
  CHECK(threads["parent's"] == static_cast<std::uint32_t>(gettid()));
  CHECK(threads["child's"] == static_cast<std::uint32_t>(child));
}

TEST_CASE("a child forked while another thread gives a name does not wait for that thread") {
  recorder();
  const auto name = [] { call<void*(const char*)>(core2[kDomainCreateA], "its own"); };
  std::atomic<bool> done{false};
  std::thread thread([&] {
    while (!done) name();
  });
  int ended = 0;
  constexpr int kForks = 50;
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      name();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ended += status == 0;
  }
  done = true;
  thread.join();
  CHECK(ended == kForks);
}

TEST_CASE("many threads at one time lose nothing uncounted") {
  Recorder& r = recorder();
  constexpr int kThreads = 4, kEach = 50;  // what a ring holds without being drained
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < kEach; ++i) {
        push("work");
        pop();
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::uint64_t seen = 0, lost = 0;
  r.memory->drain(Nanos(2'000'000'000),
                  {[](std::uint32_t pid, std::uint64_t) { return ProcessId{pid}; },
                   [](ProcessId, std::uint32_t tid) { return ThreadId{tid}; },
                   [](std::uint32_t, std::uint64_t) { return false; }},
                  r.out);
  for (const Event& event : r.out.events) {
    seen += std::holds_alternative<Range>(event.payload);
    if (const auto* loss = std::get_if<Loss>(&event.payload)) lost += loss->count;
  }
  // (Losses include the drops of the tests before.)
  CHECK(seen <= kThreads * kEach);
  CHECK(seen + lost >= kThreads * kEach);
}

}  // namespace
}  // namespace stallprof::agent
