// SPDX-License-Identifier: MIT
#include "sampler/wait_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <utility>

#include "event/sampled_events.h"

namespace stallprof {
namespace {

bool refused(int error) { return error == EPERM || error == EACCES; }

// Opening a checkpoint that is there frees what it held: tens of milliseconds, and no extract.
bool opensToWrite(const CallClass& call, const SyscallLine& line) {
  return call.flagsArg >= 0 &&
         (line.args[static_cast<std::size_t>(call.flagsArg)] & O_ACCMODE) != O_RDONLY;
}

}  // namespace

WaitReader::WaitReader(std::string root, FdBudget& fds)
    : root_(std::move(root)),
      fds_(fds),
      mounts_(under(root_, "proc/self/mountinfo")),
      files_(mounts_),
      classifier_(root_, mounts_),
      openFiles_(root_, classifier_, files_),
      mapped_(root_),
      getNexts_(root_) {}

void WaitReader::probe(std::uint32_t pid, std::uint32_t tid, Nanos now, EventOut& out) {
  mounts_.follow(processPath(root_, pid, "mountinfo"));
  const auto why = [&](std::string_view file) -> std::string {
    errno = 0;
    char buffer[256];
    const Fd fd = openAt(AT_FDCWD, threadPath(root_, pid, tid, file).c_str(), 0);
    if (fd.valid() && !preadSmall(fd.get(), buffer).empty()) return {};
    return errno == 0 ? "empty" : errnoText(errno);
  };
  const std::string sched = why("schedstat"), call = why("syscall"), wchan = why("wchan");
  schedDenied_ = !sched.empty() && why("stat").empty();
  emitSource(out, now, "thread_state",
             sched.empty()  ? Coverage::kFull
             : schedDenied_ ? Coverage::kPartial
                            : Coverage::kAbsent,
             sched.empty() ? ""
                           : "schedstat: " + sched +
                                 "; a kernel with CONFIG_SCHED_INFO has it. Time on a CPU is known "
                                 "in ticks, time that waits for one is not");
  syscallDenied_ = !call.empty();
  emitSource(out, now, "thread_syscall", call.empty() ? Coverage::kFull : Coverage::kAbsent,
             call.empty() ? ""
                          : "syscall: " + call +
                                "; root or CAP_SYS_PTRACE (in a container "
                                "--cap-add=SYS_PTRACE) would name calls and files");
  wchanDenied_ = !wchan.empty();
  emitSource(out, now, "thread_wchan", wchan.empty() ? Coverage::kFull : Coverage::kAbsent,
             wchan.empty() ? "" : "wchan: " + wchan);
}

char WaitReader::stateOf(const Thread& thread) const {
  const auto stat = parseStat(contentOf(threadPath(root_, thread.pid, thread.tid, "stat"), 4096));
  return stat ? stat->state : '?';
}

Seen WaitReader::read(Thread& thread, Nanos now, EventOut& out) {
  thread.futex = 0;
  if (syscallDenied_) return readWithoutSyscall(thread, out);
  char buffer[256];
  const std::string path =
      thread.call.kept() ? std::string() : threadPath(root_, thread.pid, thread.tid, "syscall");
  // Kept from the second time on: a thread that sleeps for good needs it once.
  FdBudget none(0);
  const bool again = std::exchange(thread.asked, true);
  const std::string_view text = thread.call.read(path, buffer, again ? fds_ : none);
  // A program that gave up being dumpable is refused alone.
  if (text.empty() && refused(errno)) return readWithoutSyscall(thread, out);
  const auto line = parseSyscall(text);
  if (!line) return readWithoutSyscall(thread, out);
  if (line->kind == SyscallLine::Kind::kRunning) {
    if (!getNexts_.runsInside(thread.process, thread.tid)) return {Wait::kRunning, {}};
    thread.getsNext = true;
    return {Wait::kRunning, out.intern(kInGetNext)};
  }
  if (line->kind == SyscallLine::Kind::kCall) return readCall(thread, *line, now, out);
  switch (stateOf(thread)) {
    case 'D':
      return readFault(thread, now, out);
    case 'T':
    case 't':
      return {Wait::kStopped, {}};
    case 'R':
      return {Wait::kRunning, {}};
    default:
      return {Wait::kOther, {}};
  }
}

Seen WaitReader::readFault(const Thread& thread, Nanos now, EventOut& out) {
  const MappedFiles::File& file = mapped_.of(thread.pid, now);
  if (file.path.empty()) return {Wait::kPageFault, {}};
  const FdTarget target{FdKind::kFile, file.path, file.bytes, -1};
  return {Wait::kPageFault, files_.waited(thread.process, target, now, out)};
}

Seen WaitReader::readCall(Thread& thread, const SyscallLine& line, Nanos now, EventOut& out) {
  const CallClass call = classOfCall(line.number);
  thread.futex = line.number == SYS_futex ? line.args[0] : 0;
  const StringId name = call.name.empty() ? StringId{} : out.intern(call.name);
  switch (call.kind) {
    case CallKind::kFdRead:
    case CallKind::kFdWrite:
    case CallKind::kFdAny:
    case CallKind::kSocket:
    case CallKind::kEpoll:
      return readDescriptor(thread, call, line, now, out);
    case CallKind::kPoll:
      // With no descriptor at all it is how programs sleep (Python's time.sleep up to 3.10).
      if (call.countArg >= 0 && line.args[static_cast<std::size_t>(call.countArg)] == 0)
        return {Wait::kSleep, name};
      return readPoll(thread, line, now, out).value_or(Seen{Wait::kPoll, name});
    case CallKind::kFutex:
      if (!getNexts_.blockedInside(thread.process, thread.pid, thread.tid, line.stack, now))
        return {Wait::kFutex, name};
      thread.getsNext = true;
      return {Wait::kFutex, out.intern(kInGetNext)};
    case CallKind::kFileMeta:
      return {opensToWrite(call, line) ? Wait::kFileWrite : Wait::kFileMeta, name};
    case CallKind::kOther:
      if (name.none()) return {Wait::kOther, out.intern("call " + std::to_string(line.number))};
      return {Wait::kOther, name};
    default:
      return {waitOf(call.kind, FdKind::kUnknown), name};
  }
}

// A socket with a timeout is waited for by a poll of it alone, as HTTP clients do. Its number is in
// the job's memory, which stays as it is while the thread is blocked.
std::optional<Seen> WaitReader::readPoll(const Thread& thread, const SyscallLine& line, Nanos now,
                                         EventOut& out) {
  const bool one = (line.number == SYS_poll || line.number == SYS_ppoll) && line.args[1] == 1;
  if (!one || !isLive(root_)) return {};
  pollfd polled{-1, 0, 0};
  const iovec into{&polled, sizeof polled},
      from{reinterpret_cast<void*>(line.args[0]), sizeof polled};
  const auto got = ::process_vm_readv(static_cast<pid_t>(thread.pid), &into, 1, &from, 1, 0);
  if (got != static_cast<ssize_t>(sizeof polled) || polled.fd < 0) return {};
  const FdTarget target =
      classifier_.sample(thread.pid, static_cast<std::uint64_t>(polled.fd), now);
  if (target.kind != FdKind::kSocket) return {};
  return Seen{Wait::kSocket, out.intern(target.name)};
}

Seen WaitReader::readDescriptor(Thread& thread, const CallClass& call, const SyscallLine& line,
                                Nanos now, EventOut& out) {
  FdTarget target = classifier_.sample(thread.pid, line.args[call.fdArg], now);
  const Wait wait = waitOf(call.kind, target.kind);
  if (target.kind == FdKind::kFile && wait == Wait::kFileRead) {
    if (call.placeArg >= 0)
      target.offset = static_cast<std::int64_t>(line.args[static_cast<std::size_t>(call.placeArg)]);
    return {wait, files_.read(thread.process, target, thread.place, now, out)};
  }
  if (target.kind == FdKind::kFile && wait == Wait::kFileWrite)
    return {wait, files_.waited(thread.process, target, now, out)};
  if (target.kind == FdKind::kUnknown || wait == Wait::kPoll) return {wait, out.intern(call.name)};
  return {wait, out.intern(target.name)};
}

// /proc/TID/syscall is refused (Yama, another user's program): the kernel's wait channel, else the
// state letter, which distinguishes running from blocked and no more.
Seen WaitReader::readWithoutSyscall(const Thread& thread, EventOut& out) const {
  const char state = stateOf(thread);
  if (state == 'R') return {Wait::kRunning, {}};
  if (state == 'T' || state == 't') return {Wait::kStopped, {}};
  if (wchanDenied_) return {};
  const std::string wchan = contentOf(threadPath(root_, thread.pid, thread.tid, "wchan"), 128);
  const Wait wait = waitOfChannel(wchan);
  return wait == Wait::kUnknown ? Seen{} : Seen{wait, out.intern(wchan)};
}

void WaitReader::eachSecond(const ProcessTree& tree, Nanos now, EventOut& out) {
  openFiles_.sample(tree, now, out);
  getNexts_.keep(tree.processes());
  getNexts_.report(now, out);
}

}  // namespace stallprof
