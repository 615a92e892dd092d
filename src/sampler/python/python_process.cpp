// SPDX-License-Identifier: MIT
#include "sampler/python/python_process.h"

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/time.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof::python {
namespace {

using std::chrono::milliseconds;
// An interpreter starts within 20 ms; a program that has none may load one later.
constexpr Nanos kFirstTry = milliseconds(20), kSlowestTry = std::chrono::seconds(10);
// A second runtime is searched for while threads run that the first does not know, as those of
// native pools do, and only where as much has been mapped since as the smallest interpreter takes
// (2.9 MB, runtime_locator.cpp), or a minute has passed: reading the 1,600 mappings of a PyTorch
// process takes up to 5 ms, which for three ranks was 6 ms a second, more than all samples of their
// stacks.
constexpr Nanos kFirstOther = milliseconds(250), kSlowestOther = std::chrono::seconds(60);
constexpr std::int64_t kSmallestBytes = 2 << 20;
// Under Yama's scope 1 a Python gives us its memory once its hook runs: it is refused to us until
// then.
constexpr Nanos kStillRefused = std::chrono::seconds(2);
// A thread that Python does not know (a pool of native code, a thread not yet registered) makes us
// read the list of threads again, less and less often.
constexpr Nanos kFirstList = milliseconds(50), kSlowestList = std::chrono::seconds(2);
// Reading it costs 1.5 us a thread: a hundred threads that come and go cost 0.3 % of a core.
constexpr Nanos kListRest{500'000};
constexpr int kTriesAgain = 2;  // at a stack that moved: 10 us each

// Adds what CPU this thread used while it lived.
class CpuUsed {
 public:
  explicit CpuUsed(Nanos& sum) : sum_(sum) {}
  CpuUsed(const CpuUsed&) = delete;
  CpuUsed& operator=(const CpuUsed&) = delete;
  ~CpuUsed() { sum_ += threadCpu() - begin_; }

 private:
  Nanos& sum_;
  const Nanos begin_ = threadCpu();
};

}  // namespace

std::string unreadText(int error) {
  return "the memory of a Python process is not ours to read: " + errnoText(error);
}

PythonProcess::PythonProcess(std::uint32_t pid, Shared& shared, std::vector<Address> taken)
    : pid_(pid), shared_(shared), taken_(std::move(taken)), attachEvery_(firstTry()) {}

Nanos PythonProcess::firstTry() const { return taken_.empty() ? kFirstTry : kFirstOther; }

// ---- which runtime -----------------------------------------------------------------------------

// Since it was last searched for a runtime. The first is searched for anyhow.
bool PythonProcess::mayHaveLoaded(Nanos now) {
  if (taken_.empty()) return true;
  const std::string text = contentOf(processPath(shared_.root, pid_, "statm"), 256);
  const std::int64_t mapped =
      parseNumber(std::string_view(text).substr(0, text.find(' '))).value_or(0) *
      ::sysconf(_SC_PAGESIZE);
  const bool grown = mapped - mappedBytes_ >= kSmallestBytes || now >= nextSearch_;
  mappedBytes_ = grown ? mapped : std::min(mapped, mappedBytes_);
  if (grown)
    nextSearch_ = now + kSlowestOther;
  else
    nextAttach_ = now + attachEvery_;
  return grown;
}

void PythonProcess::attach(Nanos now) {
  const CpuUsed used(shared_.unpaced);
  nextAttach_ = now + attachEvery_;
  attachEvery_ = std::min(attachEvery_ * 3 / 2, taken_.empty() ? kSlowestTry : kSlowestOther);
  memory_ = std::make_unique<ProcessMemory>(pid_);  // of the image it is now
  int error = 0;
  const std::vector<Runtime> runtimes = shared_.locator.find(pid_, *memory_, error);
  if (error == EACCES || error == EPERM) shared_.refused = error;
  for (const Runtime& runtime : runtimes) {
    if (std::find(taken_.begin(), taken_.end(), runtime.at) != taken_.end()) continue;
    auto found = Interpreters::attach(runtime, *memory_);
    if (!found.ok()) {
      if (found.error().kind != Error::Kind::kUnsupported) {
        nextSearch_ = {};  // it is there, and may soon have started
        continue;
      }
      shared_.report(Coverage::kPartial, runtime.file + ": " + found.error().message);
      nextAttach_ = now + kSlowestTry;
      continue;
    }
    begin(runtime, std::move(found).value(), now);
    return;
  }
  if (!runtimes.empty() && memory_->refused() != 0) {
    shared_.unread = memory_->refused();
    if (refusedSince_ == Nanos{}) refusedSince_ = now;
    if (now - refusedSince_ >= kStillRefused)
      shared_.report(Coverage::kPartial, unreadText(shared_.unread));
  }
  memory_.reset();  // a descriptor less for each process without Python
}

void PythonProcess::begin(const Runtime& runtime, Interpreters found, Nanos now) {
  interpreters_.emplace(std::move(found));
  nodes_.emplace(interpreters_->layout(), runtime.codeType, shared_.tree);
  lock_.emplace(*interpreters_);
  runtime_ = runtime.at;
  refusedSince_ = {};
  attachEvery_ = firstTry();
  nextList_ = now;
  listEvery_ = kFirstList;
  unlisted_ = true;
  std::vector<Address> taken = taken_;
  taken.push_back(runtime_);
  other_ = std::make_unique<PythonProcess>(pid_, shared_, std::move(taken));
  other_->setStride(stride_);
}

void PythonProcess::detach(EventOut& out) {
  flush(out);
  other_.reset();
  threads_.clear();
  tids_.clear();
  nodes_.reset();
  lock_.reset();
  interpreters_.reset();
  nextAttach_ = {};
  attachEvery_ = firstTry();
}

void PythonProcess::check() {
  if (interpreters_ && !memory_->sameImage(runtime_)) runtime_ = 0;  // the next round detaches
  if (other_) other_->check();
}

// ---- which threads -----------------------------------------------------------------------------

bool PythonProcess::isOurs(std::uint32_t tid) const {
  if (tid == 0) return false;
  if (!tids_.same()) return tids_.hostTid(tid) != 0;
  return ::access(threadPath(shared_.root, pid_, tid, "comm").c_str(), F_OK) == 0;
}

void PythonProcess::list(Nanos now, EventOut& out) {
  const CpuUsed used(shared_.unpaced);
  listedAt_ = now;
  nextList_ = now + std::max(listEvery_, kListRest * static_cast<Nanos::rep>(threads_.size()));
  unlisted_ = false;
  listEvery_ = std::min(listEvery_ * 2, kSlowestList);
  tids_.read(shared_.root, pid_);
  // Threads known already need not be asked for again in /proc.
  const auto isThread = [this](std::uint32_t tid) {
    return (tids_.same() && threads_.contains(tid)) || isOurs(tid);
  };
  bool listed = false;
  for (int tries = 0; tries < 3 && !listed; ++tries)
    listed = interpreters_->list(*memory_, isThread);
  // It ended, or is another program by now: what was read of its interpreters is gone as well.
  if (!listed && interpreters_->threads().empty()) {
    for (auto& [tid, thread] : threads_) thread.slices.flush(thread.id, out);
    threads_.clear();
    return;
  }
  std::unordered_map<std::uint32_t, Thread> before;
  before.swap(threads_);
  for (const PythonThread& python : interpreters_->threads()) {
    const std::uint32_t tid = tids_.hostTid(python.tid);
    if (tid == 0) continue;
    if (const auto known = before.find(tid); known != before.end()) {
      Thread& thread = threads_[tid] = std::move(known->second);
      if (thread.python.at != python.at) {
        thread.memory = {};
        thread.stale = true;
      }
      thread.python = python;
      before.erase(known);
    } else {
      threads_[tid].python = python;
    }
  }
  for (auto& [tid, thread] : before) thread.slices.flush(thread.id, out);
}

PythonProcess::Thread* PythonProcess::threadOf(const ThreadSample& sample, Nanos now,
                                               EventOut& out) {
  auto found = threads_.find(sample.tid);
  // A thread that ran may have become one of Python's since the list was read, and may now rest.
  if (found == threads_.end() && !sample.stillBlocked) unlisted_ = true;
  if (found == threads_.end() && unlisted_ && now >= nextList_) {
    list(now, out);
    found = threads_.find(sample.tid);
  }
  if (found == threads_.end()) return nullptr;
  Thread& thread = found->second;
  if (thread.id != sample.thread) {
    if (!thread.id.none()) thread.slices.flush(thread.id, out);
    thread.id = sample.thread;
    thread.stale = true;
  }
  return &thread;
}

// ---- one round ---------------------------------------------------------------------------------

bool PythonProcess::isDue(const ThreadSample& sample, Thread& thread, Nanos now, EventOut& out) {
  thread.blocked = sample.blocked;
  thread.elsewhere = sample.blocked && sample.callSeen && sample.futex == 0;
  if (!sample.stillBlocked) thread.stale = true;
  if (!thread.stale) {
    thread.slices.stillBlocked(thread.id, now, sample.between, sample.longest, out);
    return false;
  }
  // One that has come to rest is read at once: it will cost nothing after that.
  if (sample.stillBlocked || sample.preferred || thread.turn++ % stride_ == 0) return true;
  ++skipped_;
  return false;
}

// Which stacks to read, and where they are expected.
void PythonProcess::choose(const std::vector<const ThreadSample*>& known, Nanos now,
                           EventOut& out) {
  due_.clear();
  wanted_.clear();
  for (const ThreadSample* sample : known) {
    const auto found = threads_.find(sample->tid);  // a list read since may have moved it
    if (found == threads_.end() || !isDue(*sample, found->second, now, out)) continue;
    due_.push_back({sample, &found->second, nullptr});
    wanted_.push_back(&found->second.python);
  }
  shared_.reader.expectNone(interpreters_->roomBeside(wanted_.size()));
  for (Due& due : due_)
    due.copied = shared_.reader.expect(interpreters_->layout(), due.thread->memory);
}

void PythonProcess::round(const std::vector<ThreadSample>& samples, Nanos now, EventOut& out) {
  if (runtime_ == 0 && interpreters_) detach(out);  // exec
  if (!interpreters_ && now >= nextAttach_ && mayHaveLoaded(now)) attach(now);
  if (!interpreters_) return;
  unknown_.clear();
  known_.clear();
  for (const ThreadSample& sample : samples)
    if (threadOf(sample, now, out) != nullptr)
      known_.push_back(&sample);
    else if (other_)
      unknown_.push_back(sample);
  if (!unknown_.empty()) other_->round(unknown_, now, out);
  choose(known_, now, out);
  if (due_.empty()) return;
  const auto refreshed =
      interpreters_->refresh(*memory_, wanted_, states_, shared_.reader.expected());
  if (!refreshed) return detach(out);
  countWaiters(known_);
  const std::size_t bytes = interpreters_->layout().threadBytes;
  const std::size_t whole = states_.size() / bytes;
  bool gone = whole < due_.size();
  std::size_t copied = 0;
  for (std::size_t i = 0; i < whole; ++i) {
    Due& due = due_[i];
    if (due.copied != nullptr) copied += due.copied->spans();
    if (copied > refreshed->more) due.copied = nullptr;
    const auto state = std::span(states_).subspan(i * bytes, bytes);
    if (interpreters_->still(due.thread->python, state))
      readThread(due, state, now, out);
    else
      gone = true;
  }
  if (refreshed->moved || gone) listSoon(now, out);
  if (nodes_->hopeless()) {
    shared_.report(Coverage::kPartial, "a build of CPython " +
                                           versionText(interpreters_->layout().version) +
                                           " has a layout of its own: its stacks are not read");
    detach(out);
    nextAttach_ = Nanos::max();
  }
}

// The list of threads is not what it was.
void PythonProcess::listSoon(Nanos now, EventOut& out) {
  unlisted_ = true;
  listEvery_ = kFirstList;
  nextList_ = std::min(
      nextList_, std::max(now, listedAt_ + kListRest * static_cast<Nanos::rep>(threads_.size())));
  if (now >= nextList_) list(now, out);
}

// Whether frames_ is the thread's stack. One that moved while it was read is read again, with its
// state, which is older: fast Python is torn more often than a call into C that lasts, and what is
// left out would be counted with its neighbours.
bool PythonProcess::readStack(const Due& due, std::span<std::uint8_t> state) {
  Thread& thread = *due.thread;
  for (int tried = 0;; ++tried) {
    StackCopy* copied = tried == 0 ? due.copied : nullptr;
    const auto outcome = shared_.reader.read(interpreters_->layout(), thread.python.at, state,
                                             copied, *memory_, thread.memory, frames_);
    if (outcome == StackReader::Outcome::kWhole || outcome == StackReader::Outcome::kCut)
      return true;
    if (outcome == StackReader::Outcome::kTooDeep) {
      ++skipped_;
      return false;
    }
    // Up to 3.11 a generator that C code alone runs has no caller, either; later it has a shim.
    if (outcome == StackReader::Outcome::kOrphan && tried == kTriesAgain &&
        interpreters_->layout().minor() < 12)
      return true;
    if (tried == kTriesAgain || !memory_->readBytes(thread.python.at, state.data(), state.size()) ||
        !interpreters_->still(thread.python, state)) {
      ++shared_.torn;
      return false;
    }
  }
}

void PythonProcess::readThread(const Due& due, std::span<std::uint8_t> state, Nanos now,
                               EventOut& out) {
  const ThreadSample& sample = *due.sample;
  Thread& thread = *due.thread;
  if (!readStack(due, state)) return;
  const Gil gil = lock_->stateOf(thread.python, sample, thread.gil);
  const StackId stack = nodes_->of(thread.stack, frames_, *memory_, now, out);
  if (stack.none() && !thread.stack.frames.empty()) {
    ++shared_.torn;
    return;
  }
  thread.stale = false;
  thread.gil = gil;
  StackSlices::Saw saw{stack, gil, false};
  saw.gc =
      gil == Gil::kHolds && interpreters_->interpreters()[thread.python.interpreter].collecting;
  thread.slices.sample(thread.id, now, sample.between * (sample.preferred ? 1 : stride_), saw, out);
  if (!sample.blocked) thread.ranBefore = std::exchange(thread.ran, {now, saw.stack});
}

LastSample PythonProcess::lastSample(std::uint32_t tid) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return other_ ? other_->lastSample(tid) : LastSample{};
  const Thread& t = found->second;
  return {t.slices.lastAt(),
          t.slices.lastStack(),
          t.slices.beforeAt(),
          t.slices.stackBefore(),
          t.slices.sameSince(),
          t.ran,
          t.ranBefore,
          t.blocked,
          !t.elsewhere && t.gil != Gil::kWaits};
}

bool PythonProcess::knows(std::uint32_t tid) const {
  return threads_.contains(tid) || (other_ && other_->knows(tid));
}

void PythonProcess::countWaiters(const std::vector<const ThreadSample*>& samples) {
  lock_->beginRound();
  for (const ThreadSample* sample : samples)
    if (const auto found = threads_.find(sample->tid); found != threads_.end())
      found->second.queues = lock_->add(found->second.python, *sample);
  lock_->count(*memory_, [this](std::size_t interpreter) {
    return std::count_if(threads_.begin(), threads_.end(), [&](const auto& entry) {
      return entry.second.queues && entry.second.python.interpreter == interpreter;
    });
  });
}

void PythonProcess::setStride(unsigned stride) {
  stride_ = stride;
  if (other_) other_->setStride(stride);
}

void PythonProcess::flush(EventOut& out) {
  for (auto& [tid, thread] : threads_) thread.slices.flush(thread.id, out);
  if (other_) other_->flush(out);
}

std::size_t PythonProcess::takeEmitted() {
  std::size_t emitted = other_ ? other_->takeEmitted() : 0;
  for (auto& [tid, thread] : threads_) emitted += thread.slices.takeEmitted();
  return emitted;
}

std::uint64_t PythonProcess::takeSkipped() {
  return std::exchange(skipped_, 0) + (other_ ? other_->takeSkipped() : 0);
}

}  // namespace stallprof::python
