// SPDX-License-Identifier: MIT
#include "launch/recorder/recorder_process.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/text.h"
#include "launch/recorder/make_manifest.h"

namespace stallprof {
namespace {

using Kind = ControlMessage::Kind;

// Creating the recording takes 1 ms on a local disk. A file system that does not answer for this
// long would not take the recording either.
constexpr Nanos kPrepareLimit = std::chrono::seconds(10);

Error noRecorder(const std::string& why) { return {Error::Kind::kUnsupported, why}; }

}  // namespace

RecorderPlan makePlan(const LaunchOptions& options, const std::vector<std::string>& environment,
                      const std::string& recording) {
  RecorderPlan plan;
  plan.options = options;
  plan.directory = std::filesystem::absolute(recording).string();
  plan.manifest = makeManifest(options, environment);
  return plan;
}

Result<RecorderProcess> RecorderProcess::start(RecorderPlan plan) {
  auto witness = Witness::create();
  auto sockets = Control::makePair();
  if (!witness.ok() || !sockets.ok()) return noRecorder("cannot start the recorder");
  auto [ours, theirs] = std::move(sockets).value();
  const pid_t pid = ::fork();
  if (pid < 0) return noRecorder("cannot start the recorder: " + errnoText(errno));
  if (pid == 0) runRecorder(std::move(plan), std::move(theirs), witness.value());
  theirs = Control();

  const auto answer = ours.await(Kind::kReady, Kind::kRefused, now() + kPrepareLimit);
  if (answer && answer->kind == Kind::kReady)
    return RecorderProcess(std::move(ours), witness.value(), pid, *answer);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, answer || ours.closed() ? 0 : WNOHANG);  // it may hang on a dead disk
  if (!answer) return noRecorder("the recorder did not get ready");
  return answer->flag ? noRecorder(answer->text) : Error{Error::Kind::kIo, answer->text};
}

void RecorderProcess::arm(pid_t command, Nanos limit) {
  control_.send({Kind::kCommand, command});
  (void)control_.await(Kind::kArmed, Kind::kArmed, now() + limit);
}

std::optional<ControlMessage> RecorderProcess::end(int code, bool signalled, Nanos at,
                                                   Nanos limit) {
  control_.send({Kind::kEnded, code, signalled, at.count()});
  return control_.await(Kind::kClosed, Kind::kClosed, now() + limit);
}

void RecorderProcess::discard(Nanos limit) {
  control_.send({Kind::kDiscard});
  const Nanos until = now() + limit;
  (void)control_.await(Kind::kClosed, Kind::kClosed, until);
  while (::waitpid(pid_, nullptr, WNOHANG) == 0 && now() < until) ::poll(nullptr, 0, 1);
}

}  // namespace stallprof
