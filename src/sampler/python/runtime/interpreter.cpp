// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/interpreter.h"

#include <algorithm>
#include <array>

namespace stallprof::python {
namespace {

constexpr std::size_t kMaxInterpreters = 64, kMaxThreads = 8192;
constexpr std::size_t kWordSpans = 3;  // of an interpreter: list head, lock, collector
// struct pthread of glibc on x86-64 has the thread's number here (nptl/descr.h, read back for all
// versions of CPython); other C libraries are searched for it.
constexpr std::uint32_t kGlibcTid = 720;
constexpr std::size_t kPthreadBytes = 1024;

Error notYet() { return {Error::Kind::kIo, "the interpreter has not started"}; }

// The version a runtime says it is: from 3.13 at its beginning, from 3.11 in Py_Version, else only
// the file's name says.
Result<Layout> layoutAt(const Runtime& runtime, RemoteMemory& memory) {
  std::array<std::uint8_t, kDebugOffsetsBytes> head{};
  if (!memory.readBytes(runtime.at, head.data(), head.size()))
    return Error{Error::Kind::kIo, "its runtime cannot be read"};
  if (hasDebugOffsets(head)) {
    if (auto layout = layoutFromDebugOffsets(head)) return *layout;
    return Error{Error::Kind::kUnsupported,
                 "CPython " + versionText(valueAt<std::uint32_t>(head, 8)) + " is not known yet"};
  }
  std::uint32_t version = 0;
  if (runtime.versionAt != 0) version = memory.get<std::uint32_t>(runtime.versionAt).value_or(0);
  const unsigned minor = version != 0 ? (version >> 16) & 0xff : runtime.minor;
  auto layout = layoutOf(minor);
  if (!layout)
    return Error{Error::Kind::kUnsupported,
                 minor == 0 ? "the version of its CPython is not known"
                            : "CPython 3." + std::to_string(minor) + " is not known"};
  if (minor >= 13) return notYet();  // its offsets are written before anything else
  if (version != 0) layout->version = version;
  return *layout;
}

}  // namespace

Result<Interpreters> Interpreters::attach(const Runtime& runtime, RemoteMemory& memory) {
  auto layout = layoutAt(runtime, memory);
  if (!layout.ok()) return layout.error();
  Interpreters found;
  found.layout_ = layout.value();
  found.runtime_ = runtime.at;
  if (!found.listInterpreters(memory) || found.interpreters_.empty()) return notYet();
  const Layout& l = found.layout_;
  for (const InterpreterState& interpreter : found.interpreters_) {
    const auto thread = memory.get<Address>(interpreter.at + l.threads);
    if (!thread || *thread == 0) continue;
    const auto back = memory.get<Address>(*thread + l.threadInterpreter);
    if (back == interpreter.at) return found;
  }
  return notYet();
}

bool Interpreters::listInterpreters(RemoteMemory& memory) {
  interpreters_.clear();
  auto next = memory.get<Address>(runtime_ + layout_.interpreters);
  while (next && *next != 0 && interpreters_.size() < kMaxInterpreters) {
    InterpreterState state;
    state.at = *next;
    if (layout_.gilAt == Layout::GilAt::kRuntime)
      state.gil = runtime_ + layout_.gil;
    else
      state.gil = memory.get<Address>(state.at + layout_.gil).value_or(0);
    interpreters_.push_back(state);
    next = memory.get<Address>(state.at + layout_.interpreterNext);
  }
  return next.has_value();
}

bool Interpreters::list(RemoteMemory& memory, const std::function<bool(std::uint32_t)>& isThread) {
  threads_.clear();
  if (!listInterpreters(memory)) return false;
  for (std::size_t i = 0; i < interpreters_.size(); ++i)
    if (!listThreads(i, memory, isThread)) return false;
  return true;
}

bool Interpreters::listThreads(std::size_t interpreter, RemoteMemory& memory,
                               const std::function<bool(std::uint32_t)>& isThread) {
  InterpreterState& of = interpreters_[interpreter];
  std::vector<std::uint8_t> state(layout_.threadBytes);
  auto next = memory.get<Address>(of.at + layout_.threads);
  if (!next) return false;
  of.threads = *next;
  for (Address at = *next; at != 0; at = valueAt<Address>(state, layout_.threadNext)) {
    if (threads_.size() >= kMaxThreads || (at & 7) != 0) return false;
    // The list changes as we follow it: a state that is not of this interpreter is not one.
    if (!memory.readBytes(at, state.data(), state.size()) ||
        valueAt<Address>(state, layout_.threadInterpreter) != of.at)
      return false;
    PythonThread thread{at, valueAt<Address>(state, layout_.threadPthread), interpreter, 0};
    thread.tid = tidOf(state, memory, isThread);
    if (thread.tid != 0) threads_.push_back(thread);
  }
  return true;
}

// The number the interpreter noted, unless the process was forked by C code and it is the parent's;
// then, and up to 3.10, the one the C library keeps.
std::uint32_t Interpreters::tidOf(std::span<const std::uint8_t> state, RemoteMemory& memory,
                                  const std::function<bool(std::uint32_t)>& isThread) {
  if (layout_.threadNative != 0) {
    const auto tid =
        static_cast<std::uint32_t>(valueAt<std::uint64_t>(state, layout_.threadNative));
    if (isThread(tid)) return tid;
  }
  const auto pthread = valueAt<Address>(state, layout_.threadPthread);
  if (pthread == 0) return 0;
  const std::uint32_t where = tidInPthread_ != 0 ? tidInPthread_ : kGlibcTid;
  const auto usual = memory.get<std::uint32_t>(pthread + where);
  if (usual && isThread(*usual)) return *usual;
  if (tidInPthread_ != 0) return 0;
  std::array<std::uint8_t, kPthreadBytes> bytes{};
  if (!memory.readBytes(pthread, bytes.data(), bytes.size())) return 0;
  for (std::uint32_t at = 0; at < kPthreadBytes; at += 4)
    if (const auto tid = valueAt<std::uint32_t>(bytes, at); isThread(tid)) {
      tidInPthread_ = at;
      return tid;
    }
  return 0;
}

std::size_t Interpreters::roomBeside(std::size_t threads) const {
  const std::size_t taken = kWordSpans * interpreters_.size() + threads;
  return RemoteMemory::kMaxSpans - std::min(taken, RemoteMemory::kMaxSpans);
}

std::optional<Interpreters::Refreshed> Interpreters::refresh(
    RemoteMemory& memory, const std::vector<const PythonThread*>& threads,
    std::vector<std::uint8_t>& states, std::span<const RemoteSpan> more) {
  struct Words {
    Address head = 0;
    std::int32_t collecting = 0;
    std::array<std::uint8_t, 40> gil{};  // as far as its holder and whether it is held
  };
  std::vector<Words> words(interpreters_.size());
  std::vector<RemoteSpan> spans;
  const std::size_t before = kWordSpans * words.size();
  const std::size_t maximum = std::min(threads.size(), RemoteMemory::kMaxSpans - before);
  spans.reserve(before + maximum + more.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const InterpreterState& of = interpreters_[i];
    const Address collector = layout_.collectingInRuntime ? runtime_ : of.at;
    const Address gil = of.gil != 0 ? of.gil : of.at;  // no lock: read what is there, unused
    spans.push_back({of.at + layout_.threads, &words[i].head, sizeof(Address)});
    spans.push_back({gil, words[i].gil.data(), words[i].gil.size()});
    spans.push_back({collector + layout_.collecting, &words[i].collecting, sizeof(std::int32_t)});
  }
  states.resize(maximum * layout_.threadBytes);
  for (std::size_t i = 0; i < maximum; ++i)
    spans.push_back({threads[i]->at, states.data() + i * layout_.threadBytes, layout_.threadBytes});
  spans.insert(spans.end(), more.begin(), more.end());
  const std::size_t read = memory.read(spans);
  if (words.empty() || read < before) return std::nullopt;
  const std::size_t whole = std::min(read - before, maximum);
  states.resize(whole * layout_.threadBytes);
  Refreshed refreshed{false, read - before - whole};
  for (std::size_t i = 0; i < words.size(); ++i) {
    InterpreterState& of = interpreters_[i];
    // A lock that was not made yet when the list was read is found by reading it again.
    refreshed.moved =
        refreshed.moved || words[i].head != of.threads || (of.gil == 0 && !layout_.freeThreaded);
    const bool held = of.gil != 0 && valueAt<std::int32_t>(words[i].gil, layout_.gilLocked) == 1;
    of.holder = held ? valueAt<Address>(words[i].gil, layout_.gilHolder) : 0;
    of.collecting = words[i].collecting == 1;
  }
  return refreshed;
}

// Behind `locked` lie switch_number, then a condition and a mutex twice: those who wait for the
// lock wait for the first, and one that gave it up on request for the second, until another has it.
// Both are pthread_cond_t, whose __wrefs is eight times the threads inside a wait: at 36, from
// glibc 2.42 at 28. What the other layout has there is less (sizes of groups) or no such number (a
// sequence).
std::uint32_t Interpreters::waiting(std::size_t interpreter, RemoteMemory& memory) const {
  constexpr std::uint32_t kConditions = 16, kBoth = 48 + 40;  // from `locked`; of one and its mutex
  const Address first = interpreters_[interpreter].gil + layout_.gilLocked + kConditions;
  std::array<std::array<std::uint32_t, 12>, 2> conditions{};
  const RemoteSpan spans[] = {{first, &conditions[0], sizeof conditions[0]},
                              {first + kBoth, &conditions[1], sizeof conditions[1]}};
  if (memory.read(spans) < std::size(spans)) return 0;
  std::uint32_t maximum = 0;
  for (const std::size_t word : {36 / 4, 28 / 4}) {
    const std::uint32_t waits = (conditions[0][word] >> 3) + (conditions[1][word] >> 3);
    if (waits <= threads_.size()) maximum = std::max(maximum, waits);
  }
  return maximum;
}

bool Interpreters::still(const PythonThread& thread, std::span<const std::uint8_t> state) const {
  return valueAt<Address>(state, layout_.threadInterpreter) ==
             interpreters_[thread.interpreter].at &&
         valueAt<Address>(state, layout_.threadPthread) == thread.pthread;
}

}  // namespace stallprof::python
