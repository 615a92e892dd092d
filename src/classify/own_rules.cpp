// SPDX-License-Identifier: MIT
#include "classify/own_rules.h"

namespace stallprof {
namespace {

constexpr OwnRule kOwnRules[] = {
    {kOwnProducer, "transform",
     "A producer at work in code that no rule claims: its own Python, or C called from it."},
    {kOwnTrainer, "compute",
     "The trainer at work in code that no rule claims: Python between operators, or C called from "
     "it."},
    {kOwnData, "transform",
     "In the trainer, own code and arrays in a function of the user's own that makes data: what it "
     "calls reads or transforms by known rules, and nothing in it is a model's. Or it works on "
     "arrays alone, always between a loader's batch, else an optimizer's step, and the model's "
     "next use: where it scores the step before instead, this is wrong. Or it is called at a line "
     "of the training loop before the first that runs a model."},
    {kOwnEvaluation, "periodic",
     "In the trainer, a function of the user's own, or a line below the update, that runs the "
     "model, never backward nor an update, in a few steps that are far longer than the others."},
    {kOwnWriting, "periodic",
     "In the trainer, a function of the user's own that is blocked writing a file, or logs, for "
     "much of its time, and neither updates a model nor makes data."},
    {kOwnPause, "periodic",
     "In the trainer, at a line of the user's own that is asleep, or waits for another process, in "
     "a few steps that are far longer than the others, and in no others."},
    {kOwnAfterUpdate, "compute",
     "In the trainer, at a line of a function that trains below the last one that updates the "
     "model: metrics, copies, averages. Nothing that a rule knows as saving, evaluating or "
     "logging."},
    {kOwnRelease, "load",
     "In the trainer, at a line that gets a loader's batches: the part of its CPU that native "
     "samples find in munmap(), where the shared memory of the batch before is unmapped."},
    {kUnknownLine, "other",
     "The trainer's own code, in a loop whose loader nobody knows, at a line that neither computes "
     "by any rule nor makes what the computing lines are given."},
    {kOwnCollective, "comm",
     "A rank on a host without a device, blocked in backward while no thread of its process works: "
     "it waits for the other ranks' gradients."},
    {kNoFrame, "other",
     "The trainer's thread in no Python frame: before the first, after the last, or native code "
     "that no Python called."},
    {kCollecting, "periodic",
     "The interpreter says that its garbage collector is running in this thread. Where a rule says "
     "that data are read or made, and in a producer, the sample keeps its phase."},
    {"cpu.read_calls", "extract",
     "Where no stack shows it: the part of a function's CPU that native samples find in the "
     "kernel, opening and reading files. Without these: the part of the producers' CPU that read "
     "calls cost, from system time less page faults."},
    {"wait.file_read", "extract", "Blocked reading a file."},
    {"wait.file_meta", "extract",
     "Blocked opening a file to read it, in stat, a directory listing, close."},
    {"wait.file_write", "extract | periodic",
     "Blocked writing a file, opening one to write, removing or renaming one: in a fetch it fills "
     "a cache of what was fetched; in the trainer it "
     "saves state, logs or results."},
    {"wait.page_fault", "extract", "Blocked outside any system call: a mapped file, or swap."},
    {"wait.socket", "extract", "Blocked receiving from the network."},
    {kAwaitsNetwork, "extract",
     "Blocked in an event loop that a line of the program's own runs (asyncio), while network "
     "connections are open: it waits for an answer. In a thread that nothing of its own runs it "
     "may be idle: unknown."},
    {"wait.lock", "transform | compute",
     "Blocked on a lock: a thread of its own pool, or the interpreter's lock."},
    {"wait.pipe", "transform | compute", "Blocked on a pipe to a process of its own."},
    {"wait.child", "transform | compute", "Waiting for a child process."},
    {"wait.memory_map", "transform | compute", "Blocked mapping memory: the map's lock."},
    {"wait.runnable", "transform | compute", "Runnable between two samples."},
    {"wait.device", "compute", "The trainer blocked in an accelerator's driver."},
    {"wait.sleep", "unknown", "Asleep: nobody's work."},
    {"wait.unnamed", "unknown", "Blocked in something that says nothing about the work."},
};

}  // namespace

std::span<const OwnRule> ownRules() { return kOwnRules; }

}  // namespace stallprof
