// SPDX-License-Identifier: MIT
#include "launch/recorder/recorder.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/proc_numbers.h"
#include "base/units.h"
#include "launch/process/background.h"
#include "launch/process/children.h"
#include "launch/process/descriptors.h"
#include "launch/process/inherited.h"
#include "launch/recorder/clock_watch.h"
#include "launch/recorder/job_watch.h"
#include "launch/recorder/progress.h"
#include "launch/recorder/recorder_log.h"
#include "launch/setup/child_environment.h"
#include "recording/activity/activity.h"
#include "recording/memory/ring.h"
#include "recording/storage.h"
#include "recording/writer.h"
#include "sampler/nvml/nvml_sampler.h"
#include "sampler/proc/proc_file.h"

namespace stallprof {
namespace {

// The ring of a process holds some 500 batches of a loader; drained after 120 ms at the latest it
// never fills below 4,000 batches a second.
constexpr Nanos kDrainEvery = std::chrono::milliseconds(80);
// While sampling is paused, where since the drain before fewer than 1,000 events a second came, a
// fourth of what a ring has room for in that time.
constexpr Nanos kDrainPaused = std::chrono::milliseconds(160);
constexpr Nanos kFewEach = std::chrono::milliseconds(1);
// A wake-up costs more than what is done in it (25 us on a virtual machine): our own work waits
// this long for one of the samplers'.
constexpr Nanos kMaxDelay = std::chrono::milliseconds(40);
constexpr Nanos kUsageEvery = std::chrono::seconds(1);
// Without pidfd_open (before Linux 5.3), how often to ask whether an orphaned command still runs.
constexpr Nanos kAskEvery = std::chrono::milliseconds(500);

std::int64_t residentBytes() {
  const auto text = readFile("/proc/self/statm", 256);
  if (!text.ok()) return -1;
  const std::size_t space = text.value().find(' ');
  if (space == std::string::npos) return -1;
  return std::strtoll(text.value().c_str() + space, nullptr, 10) * ::sysconf(_SC_PAGESIZE);
}

std::int64_t peakResidentBytes() {
  struct rusage usage {};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * std::int64_t{1024} : -1;
}

class Recorder {
 public:
  Recorder(RecorderPlan plan, Control control)
      : plan_(std::move(plan)), control_(std::move(control)) {}

  bool prepare();
  std::string prepareMemory();
  std::string prepareActivity();
  void run();

 private:
  void waitUntil(Nanos due);
  void noteOrphaned();
  void readMessages();
  void handle(const ControlMessage& message);
  void watchCommand(pid_t command);
  void work(Nanos now);
  void reportUsage(Nanos now);
  void reportProgress(Nanos now);
  void finish();
  void nameNative(Nanos now);
  void discard();
  void source(std::string_view name, Coverage state, std::string_view why);
  void drain(Nanos now);
  void endCommand(Nanos now);
  void continueFront() const;
  [[nodiscard]] Nanos nextDue() const;
  [[nodiscard]] bool commandGone() const;

  RecorderPlan plan_;
  Control control_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<RecorderLog> log_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<EventMemory> memory_;
  std::unique_ptr<ActivityMemory> activity_;
  std::unique_ptr<JobWatch> watch_;
  EventMemory::Identities identities_;
  ClockWatch clocks_;
  pid_t command_ = 0;
  Fd commandFd_;
  Nanos drained_{}, nextDrain_{}, nextUsage_{}, nextProgress_{}, planned_{}, frontCpu_{};
  bool messagesPending_ = true;  // something may wait at the control socket
  bool orphaned_ = false;        // the log says that the front is gone
  bool frontStopped_ = false;    // with the command
  bool done_ = false, discard_ = false, enough_ = false;
  CommandEnd end_;
  Nanos endedAt_{};
};

bool Recorder::prepare() {
  plan_.manifest.recorderPid = static_cast<std::uint32_t>(::getpid());
  Writer::Options limits;
  if (plan_.options.maxBytes > 0) limits.maxBytes = plan_.options.maxBytes;
  auto writer = Writer::create(plan_.directory, plan_.manifest, limits);
  if (!writer.ok()) {
    const bool lacking = writer.error().kind == Error::Kind::kUnsupported;
    const bool taken = writer.error().kind == Error::Kind::kUsage;
    control_.send({ControlMessage::Kind::kRefused, taken, lacking, 0, writer.error().message});
    return false;
  }
  writer_ = std::move(writer).value();
  log_ = std::make_unique<RecorderLog>(*writer_, plan_);
  progress_ = std::make_unique<Progress>(*writer_, namesOf(plan_.options.overrides),
                                         plan_.options.progressEvery > Nanos(0));
  nextProgress_ = now() + plan_.options.progressEvery;
  ControlMessage ready{ControlMessage::Kind::kReady};
  if (!plan_.attached) ready.text = prepareMemory();
  ready.second = prepareActivity();
  if (!plan_.noHook.empty()) source("hook", Coverage::kAbsent, plan_.noHook);
  (void)!::chdir("/");  // whatever happens to the job's directory, we do not keep it busy
  return control_.send(ready);
}

// Its path; empty: none.
std::string Recorder::prepareMemory() {
  auto memory = EventMemory::create(plan_.directory);
  if (!memory.ok()) {
    source("hook", Coverage::kAbsent, "no event memory: " + memory.error().message);
    return {};
  }
  memory_ = std::move(memory).value();
  return memory_->path(plan_.manifest.recorderPid);
}

// Its path; empty: none. Nothing is reported of a GPU until a process of the job uses one, unless
// it could not be traced if it did, or none can be used. A driver may still come with its first
// user: what is reported last counts.
std::string Recorder::prepareActivity() {
  if (!plan_.noAgent.empty()) source("gpu", Coverage::kAbsent, plan_.noAgent);
  if (!plan_.noNvtx.empty()) source("nvtx", Coverage::kAbsent, plan_.noNvtx);
  if (!plan_.agent) return {};
  auto memory = ActivityMemory::create(plan_.options.gpu == GpuTracing::kWindows);
  if (!memory.ok()) {
    source("gpu", Coverage::kAbsent, "no activity memory: " + memory.error().message);
    return {};
  }
  activity_ = std::move(memory).value();
  if (plan_.noAgent.empty() && nvmlLibraries("/").empty())
    source("gpu", Coverage::kAbsent, "no NVIDIA driver was here when the run began");
  if (!plan_.keepActivity.empty())
    if (const Status kept = activity_->keep(plan_.keepActivity); !kept.ok())
      source("kept_activity", Coverage::kAbsent, kept.error().message);
  return activity_->path(plan_.manifest.recorderPid);
}

void Recorder::source(std::string_view name, Coverage state, std::string_view why) {
  emitSource(*writer_, now(), name, state, why);
}

void Recorder::run() {
  planned_ = now();
  while (!done_) {
    const Nanos t = now();
    clocks_.sample({t, realtimeNow(), boottimeNow()}, planned_, *writer_);
    work(t);
    readMessages();
    if (!done_ && control_.closed() && !std::exchange(orphaned_, true)) noteOrphaned();
    // Of attach the command is somebody's server, which may run for days.
    if (control_.closed() && (plan_.attached || commandGone())) done_ = true;
    if (!done_) waitUntil(nextDue());
  }
  discard_ ? discard() : finish();
}

void Recorder::noteOrphaned() {
  const char* const why =
      plan_.attached
          ? "stallprof attach was killed: the recording ended"
          : "stallprof run was killed; recorded until the command ended, how is not known";
  writer_->emit(now(), Gap{Nanos(0), writer_->intern(why)});
}

Nanos Recorder::nextDue() const {
  Nanos due = std::min(nextDrain_, nextUsage_) + (watch_ ? kMaxDelay : Nanos(0));
  if (watch_) due = std::min(due, watch_->loop().nextDue());
  return due;
}

void Recorder::waitUntil(Nanos due) {
  planned_ = due;
  const Nanos left = std::max(due - now(), Nanos(0));
  const timespec limit{static_cast<time_t>(left.count() / 1'000'000'000),
                       static_cast<long>(left.count() % 1'000'000'000)};
  // The command's end matters to us only when there is no front to report it.
  pollfd ready[2] = {{control_.fd(), POLLIN, 0}, {commandFd_.get(), POLLIN, 0}};
  if (control_.closed())
    ::ppoll(ready + 1, 1, &limit, nullptr);
  else
    messagesPending_ = ::ppoll(ready, 1, &limit, nullptr) > 0;
}

bool Recorder::commandGone() const {
  if (command_ == 0) return true;
  if (commandFd_.valid()) {
    pollfd ready{commandFd_.get(), POLLIN, 0};
    return ::poll(&ready, 1, 0) > 0;
  }
  if (::kill(command_, 0) != 0) return errno == ESRCH;
  if (!procHasOurNumbers()) return false;
  // Where nobody reaps it, it is there for ever; others of its threads may go on.
  return statusOf(command_, "State").starts_with('Z') && statusOf(command_, "Threads") == "1";
}

void Recorder::readMessages() {
  if (control_.closed() || !std::exchange(messagesPending_, false)) return;
  while (const auto message = control_.receive()) handle(*message);
}

void Recorder::handle(const ControlMessage& message) {
  switch (message.kind) {
    case ControlMessage::Kind::kCommand:
      return watchCommand(message.number);
    case ControlMessage::Kind::kUninstrumented:
      if (watch_) watch_->expectHook({}, {});
      return source("hook", Coverage::kAbsent, message.text);
    case ControlMessage::Kind::kSignal:
      log_->write(LogLevel::kDebug, "signal " + std::to_string(message.number) +
                                        (message.flag ? ": passed on" : ": the command has it"));
      return writer_->emit(Nanos(message.wide), SignalForwarded{message.number, message.flag});
    case ControlMessage::Kind::kStopped:
      frontStopped_ = message.flag;
      return;
    case ControlMessage::Kind::kEnded:
      (message.flag ? end_.signal : end_.exitCode) = message.number;
      endedAt_ = Nanos(message.wide);
      done_ = true;
      return;
    case ControlMessage::Kind::kDiscard:
      discard_ = done_ = true;
      return;
    default:
      return;  // of a newer front
  }
}

void Recorder::watchCommand(pid_t command) {
  command_ = command;
  commandFd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, command, 0)));
  const Nanos attachedAt = plan_.attached ? plan_.manifest.startedMonotonic : Nanos(0);
  log_->write(LogLevel::kInfo, "the command is process " + std::to_string(command));
  watch_ = std::make_unique<JobWatch>(command, plan_.options, attachedAt);
  const Result<std::string> hook = findHook();
  if (memory_ && plan_.noHook.empty())
    watch_->expectHook(memory_->path(plan_.manifest.recorderPid), hook.ok() ? hook.value() : "");
  watch_->arm(*writer_);
  identities_ = watch_->identities();
  control_.send({ControlMessage::Kind::kArmed});
}

void Recorder::work(Nanos t) {
  if (watch_ && t >= watch_->loop().nextDue()) watch_->loop().step(t, *writer_);
  // Now, too, what would be overdue when the samplers are due again.
  const Nanos next = watch_ ? watch_->loop().nextDue() - kMaxDelay : Nanos(0);
  if (t >= nextDrain_ || next > nextDrain_) drain(t);
  if (t >= nextUsage_ || next > nextUsage_) {
    reportUsage(t);
    nextUsage_ = t + kUsageEvery;
  }
  if (plan_.options.progressEvery > Nanos(0) && t >= nextProgress_) {
    reportProgress(t);
    nextProgress_ = t + plan_.options.progressEvery;
  }
}

void Recorder::drain(Nanos t) {
  const std::uint64_t before = progress_->taken();
  if (memory_ && watch_) memory_->drain(t, identities_, *progress_);
  if (activity_ && watch_) activity_->drain(t, identities_, *writer_);
  if (watch_) watch_->loop().notePace(t, progress_->pace());
  endCommand(t);
  continueFront();
  writer_->tick(t);
  log_->writeNotes();
  const auto came = static_cast<Nanos::rep>(progress_->taken() - before);
  const bool few = !activity_ && came * kFewEach < t - std::exchange(drained_, t);
  const Nanos every = few && watch_ && watch_->loop().paused() ? kDrainPaused : kDrainEvery;
  nextDrain_ = t + (commandFd_.valid() ? every : std::min(every, kAskEvery));
}

// Once the steps have been made that the user asked for.
void Recorder::endCommand(Nanos t) {
  const Overrides& asked = plan_.options.overrides;
  if (!asked.ends() || enough_) return;
  const Progress::Made made = progress_->made(asked.fromUpdate);
  const bool enough = (asked.steps > 0 && made.steps >= asked.steps) ||
                      (asked.seconds > 0 && made.first >= Nanos(0) &&
                       t - made.first >= std::chrono::seconds(asked.seconds));
  enough_ = enough && control_.send({ControlMessage::Kind::kEnough});  // else the next time
}

// Again and again until it goes on, as its stop drops a SIGCONT that comes right before.
void Recorder::continueFront() const {
  const auto front = static_cast<pid_t>(plan_.manifest.frontPid);
  if (!frontStopped_ || ::getppid() != front) return;
  if (commandGone() || !isStopped(command_)) ::kill(front, SIGCONT);
}

void Recorder::reportProgress(Nanos t) {
  std::string line = progress_->line(t);
  if (line.empty()) return;
  const Nanos ran = t - plan_.manifest.startedMonotonic;
  line += ", recorder " +
          tenthPercentText(seconds(processCpu() + frontCpu_) / std::max(seconds(ran), 1.0)) +
          " of a core";
  log_->write(LogLevel::kDebug, line);
  control_.send({ControlMessage::Kind::kProgress, 0, false, 0, line});
}

void Recorder::reportUsage(Nanos t) {
  const Nanos front = cpuOf(static_cast<pid_t>(plan_.manifest.frontPid));
  if (!control_.closed() && front >= Nanos(0)) frontCpu_ = front;  // a dead front keeps its last
  RecorderUsage usage;
  usage.cpu = processCpu() + frontCpu_;
  usage.residentBytes = residentBytes();
  usage.peakBytes = peakResidentBytes();
  usage.writtenBytes = writer_->bytesWritten();
  usage.milliHz = watch_ ? watch_->loop().milliHz() : 0;
  usage.pid = plan_.manifest.recorderPid;
  writer_->emit(t, usage);
  log_->update(t, usage);
}

void Recorder::finish() {
  const Nanos t = now();
  if (watch_) {
    watch_->loop().finish(t, *writer_);
    if (memory_) memory_->drain(t, identities_, *progress_);
    if (activity_) activity_->finish(t, identities_, *writer_);
    end_.outlived = watch_->outlived();
  }
  reportUsage(t);
  writer_->emit(endedAt_ == Nanos(0) ? t : endedAt_, end_);
  if (memory_) memory_->close();
  if (activity_) activity_->close();
  nameNative(t);
  writer_->close();
  log_->end(end_);
  const int trouble = writer_->error();
  control_.send({ControlMessage::Kind::kClosed, static_cast<std::int32_t>(end_.outlived),
                 progress_->changed(), writer_->bytesWritten(),
                 trouble == 0 ? "" : troubleText(trouble)});
}

// Last, and when all else is on the disk: a file may lie on one that hangs.
void Recorder::nameNative(Nanos t) {
  writer_->flush();
  if (watch_ && writer_->error() == 0) watch_->nameNative(t, *writer_);
}

void Recorder::discard() {
  if (memory_) memory_->close();
  if (activity_) activity_->close();
  writer_->discard();
  control_.send({ControlMessage::Kind::kClosed});
}

}  // namespace

void runRecorder(RecorderPlan plan, Control control, const Witness& witness) {
  // No core of ours with the job's words in it. 1 and not 0: the kernel gives none to a program
  // either.
  const rlimit none{1, 1};
  ::setrlimit(RLIMIT_CORE, &none);
  setSignalMask(kAllSignals);  // SIGXFSZ and SIGPIPE too: the writer sees EFBIG and EPIPE instead
  control = Control(keepOnly(control.takeSocket()));
  if (!witness.startCounting(control)) {
    control.send({ControlMessage::Kind::kRefused, 0, true, 0,
                  "cannot start the signal witness: " + errnoText(errno)});
    ::_exit(1);
  }
  becomeBackground();
  Recorder recorder(std::move(plan), std::move(control));
  if (recorder.prepare()) recorder.run();
  ::_exit(0);
}

}  // namespace stallprof
