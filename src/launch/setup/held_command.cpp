// SPDX-License-Identifier: MIT
#include "launch/setup/held_command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace stallprof {
namespace {

// Child to front, over a close-on-exec pipe: the first as it begins to wait, then one for each exec
// that failed. End of file means exec worked.
struct Outcome {
  int error = 0;
  int untouched = 0;
};

bool readOutcome(int pipe, Outcome& outcome) {
  ssize_t got = -1;
  do got = ::read(pipe, &outcome, sizeof outcome);
  while (got < 0 && errno == EINTR);
  return got == sizeof outcome;
}

// Between fork and exec: system calls only. `untouched`: the environment where `environment` does
// not fit; null: there is no other.
[[noreturn]] void becomeCommand(char* const* argv, char* const* environment, char* const* untouched,
                                const Inherited& inherited, int go, int outcome) {
  Outcome result;
  (void)!::write(outcome, &result, sizeof result);
  char word = 0;
  ssize_t got = -1;
  do got = ::read(go, &word, 1);
  while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(125);  // the front died first: there is nobody to run for
  inherited.restore();
  ::execvpe(argv[0], argv, environment);
  result = {errno, 0};
  if (result.error == E2BIG &&
      untouched != nullptr) {  // what we add did not fit: the command goes without it
    result = {0, 1};
    (void)!::write(outcome, &result, sizeof result);
    ::execvpe(argv[0], argv, untouched);
    result.error = errno;
  }
  (void)!::write(outcome, &result, sizeof result);
  ::_exit(127);
}

}  // namespace

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

Result<HeldCommand> HeldCommand::fork(const Plan& plan, const Inherited& inherited) {
  const auto argv = pointers(plan.argv), environment = pointers(plan.environment),
             untouched = pointers(plan.untouched);
  int go[2], outcome[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return ioError("making a pipe", errno);
  Fd goRead(go[0]), goWrite(go[1]);
  if (::pipe2(outcome, O_CLOEXEC) != 0) return ioError("making a pipe", errno);
  Fd outcomeRead(outcome[0]), outcomeWrite(outcome[1]);

  HeldCommand command;
  command.pid_ = ::fork();
  if (command.pid_ < 0) return ioError("forking the command", errno);
  if (command.pid_ == 0) {
    ::close(goWrite.release());  // else the child would hold its own pipe open
    if (plan.recorder > 0)
      ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(plan.recorder), 0ul, 0ul, 0ul);
    becomeCommand(argv.data(), environment.data(), plan.only ? nullptr : untouched.data(),
                  inherited, goRead.get(), outcomeWrite.get());
  }
  command.go_ = std::move(goWrite);
  command.outcome_ = std::move(outcomeRead);
  outcomeWrite.reset();  // or the end of one that dies would not be seen
  Outcome held;          // from then on the recorder may read its memory
  (void)readOutcome(command.outcome_.get(), held);
  return command;
}

HeldCommand::Started HeldCommand::release() {
  (void)writeAll(go_.get(), "x");  // a child that died meanwhile is seen by the wait for it
  go_.reset();
  Outcome last;
  for (Outcome next; readOutcome(outcome_.get(), next);) last = next;
  outcome_.reset();
  return {last.error, last.untouched != 0};
}

int execFailureStatus(int error) { return error == ENOENT ? 127 : 126; }

std::string execFailureText(const std::string& command, int error) {
  std::string text = inQuotes(command) + ": " + errnoText(error);
  if (error != ENOENT) return text;
  if (command.find('/') != std::string::npos && ::access(command.c_str(), F_OK) == 0)
    return text +
           " (the file is there: the interpreter that its first line names is not, or the "
           "loader of its shared libraries)";
  // `run --drain 4 -- ...`
  if (!command.empty() && command.find_first_not_of("0123456789") == std::string::npos)
    return text +
           " (the value of an option that needs none goes behind '=', as in --drain=" + command +
           ")";
  return text;
}

int execUntouched(const std::vector<std::string>& argv) {
  ::execvp(argv[0].c_str(), pointers(argv).data());
  return errno;
}

}  // namespace stallprof
