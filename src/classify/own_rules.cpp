// SPDX-License-Identifier: MIT
#include "classify/own_rules.h"

namespace stallprof {
namespace {

constexpr OwnRule kOwnRules[] = {
    {kOwnProducer, "transform",
     "A producer runs code that no rule matches: its own Python, or C called from it."},
    {kOwnTrainer, "compute",
     "The trainer runs code that no rule matches: Python between operators, or C called from it."},
    {kOwnData, "transform",
     "In the trainer, code and arrays of a user's function that makes data: the functions that it "
     "calls read or transform by known rules, and none of them belongs to a model. Or the function "
     "only processes arrays, always between a loader's batch, or else an optimizer step, and the "
     "model's next use. (If it evaluates the previous step instead, this is wrong.) Or it is "
     "called at a line of the training loop before the first line that runs a model."},
    {kOwnEvaluation, "periodic",
     "In the trainer, a user's function, or a line below the update, that runs the model without "
     "backward and update, in a few steps that are far longer than the others."},
    {kOwnWriting, "periodic",
     "In the trainer, a user's function that is blocked writing a file, or logs, for much of its "
     "time, and neither updates a model nor makes data."},
    {kOwnPause, "periodic",
     "In the trainer, at a line of the user's code that sleeps, or waits for another process, in a "
     "few steps that are far longer than the others, and in no other steps."},
    {kOwnAfterUpdate, "compute",
     "In the trainer, at a line of a training function below the last line that updates the model: "
     "metrics, copies, averages. Excludes known saving, evaluation and logging."},
    {kOwnRelease, "load",
     "In the trainer, at a line that gets a loader's batches: the part of its CPU time in "
     "munmap(), by native samples. It unmaps the shared memory of the previous batch."},
    {kUnknownLine, "other",
     "The trainer's own code where no loader is known: at a line of its loop that does not compute "
     "by any rule and does not make the input of computing lines; without such lines and without "
     "steps, anywhere, operations on arrays too."},
    {kOwnCollective, "comm",
     "A rank on a host without a device is blocked in backward while no thread of its process "
     "works: it waits for the other ranks' gradients."},
    {kNoFrame, "other",
     "The trainer's thread has no Python frame: before the first frame, after the last, or in "
     "native code without a Python caller."},
    {kCollecting, "periodic",
     "The interpreter reports that its garbage collector runs in this thread. If a rule shows that "
     "data is read or made, and in a producer, the sample keeps its phase."},
    {"cpu.read_calls", "extract",
     "If no stack shows it: the part of a function's CPU time in the kernel, opening and reading "
     "files, by native samples. Without these: the part of the producers' CPU time in read calls, "
     "from system time less page faults."},
    {"wait.file_read", "extract", "Blocked reading a file."},
    {"wait.file_meta", "extract",
     "Blocked opening a file to read it, in stat, a directory listing, close."},
    {"wait.file_write", "extract | periodic",
     "Blocked writing a file, opening it for writing, removing or renaming it. In a fetch this "
     "fills a cache of fetched data; in the trainer it saves state, logs or results."},
    {"wait.page_fault", "extract", "Blocked outside any system call: a mapped file, or swap."},
    {"wait.socket", "extract", "Blocked receiving from the network."},
    {kAwaitsNetwork, "extract",
     "Blocked in an event loop (asyncio) below a line of the program's code, while network sockets "
     "are open, and no other thread works: it waits for a response. In a thread without the "
     "program's code, or in a program without steps, it may be idle: unknown."},
    {"wait.lock", "transform | compute",
     "Blocked on a lock: a thread of its own pool, or the interpreter's lock."},
    {"wait.pipe", "transform | compute", "Blocked on a pipe to a process of its own."},
    {"wait.child", "transform | compute", "Waiting for a child process."},
    {"wait.memory_map", "transform | compute", "Blocked mapping memory: the map's lock."},
    {"wait.runnable", "transform | compute", "Runnable between two samples."},
    {"wait.device", "compute", "The trainer blocked in an accelerator's driver."},
    {"wait.sleep", "unknown", "The thread is sleeping."},
    {"wait.unnamed", "unknown", "Blocked in a call that does not indicate the kind of work."},
};

}  // namespace

std::span<const OwnRule> ownRules() { return kOwnRules; }

}  // namespace stallprof
