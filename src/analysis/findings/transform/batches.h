// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "analysis/findings/fixes.h"
#include "analysis/findings/hot.h"

// What the findings about making batches share.
namespace stallprof {

void addWaitEvidence(Finding& f, const Evidence& e);   // "waits 30 ms of 40 ms a step for data"
void addBatchEvidence(Finding& f, const Evidence& e);  // what making one takes
void addCoresEvidence(Finding& f, const Evidence& e);  // how many of them are in use

void addRereadEvidence(Finding& f, const Evidence& e);  // "90 times the size of x.h5"

extern const AdviceDefinition kOfflinePreprocess, kWholeBatches, kReadOnce;
// Samples of tensors that lie in memory are only gathered: then by whole batches. What is read
// again and again, once; else what can be done once before training.
[[nodiscard]] Advice cheaperBatches(const Evidence& e);
// Null where the files are not known to be read again, or do not fit into memory.
[[nodiscard]] Maybe<Advice> readOnce(const Evidence& e);

// Without a known loader: threads of the training process make the batches (tf.data's, a prefetch
// thread's), and the step waits for those more than for reading.
[[nodiscard]] bool threadsFallBehind(const Evidence& e);
// The cores are full, by the job, or the training thread itself often waits for one.
[[nodiscard]] bool threadsLackCores(const Evidence& e);
// Of the time, the part in which Python code of those threads was on a CPU; over 1 where several
// were at once.
[[nodiscard]] double pythonOfThreads(const Evidence& e);
// Two or more Python threads of a process that makes batches often wait for the interpreter's lock,
// which others do not hold: more of them make no more.
[[nodiscard]] bool lockBound(const Evidence& e);
[[nodiscard]] Share lockWaits(const Evidence& e);  // of the time in which they want to run
// TensorFlow's threads call Python code to make the batches, for more than half of the wait, and
// only one of them runs it at a time: no other process does, and the lock is not released, or
// several wait for it.
[[nodiscard]] bool pythonFallsBehind(const Evidence& e);
// A finding about those. What one batch takes of them is not known (analysis/findings/ahead.h).
[[nodiscard]] Finding threadsFinding(const Evidence& e, std::string title);
// Of such threads, how many are of other processes, which the program starts itself.
[[nodiscard]] std::int64_t threadsOfOthers(const Evidence& e);
void addThreadsEvidence(Finding& f, const Evidence& e);  // how many, whose, and cores in use

// True for half and more of the data that the training thread makes.
[[nodiscard]] bool mostlyMade(const Evidence& e, Phase phase,
                              const std::function<bool(const FunctionSamples&)>& is);
// By functions of the program that step an environment: what they call in libraries, too.
[[nodiscard]] bool inEnvironment(const Evidence& e, Phase phase);

extern const FindingDefinition kGilBound;

}  // namespace stallprof
