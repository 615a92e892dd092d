// SPDX-License-Identifier: MIT
#include "advise/catalogue.h"
#include "advise/hints.h"

namespace stallprof {

std::string transformText(const AdviceContext& c) {
  const std::string& id = c.advice.id;
  const auto& change = c.advice.change;
  if (id == "more_workers" && change.from == "0")
    return "Set " + settingOf(c, "num_workers") + "=" + change.to + " and " +
           settingOf(c, "persistent_workers") + "=True" + atSetting(c) +
           ": batches are then made while the step computes, not between steps.";
  if (id == "more_workers")
    return "Raise " + settingOf(c, "num_workers") + " from " + change.from + " to " + change.to +
           atSetting(c) + ": the batches come too late from those there are, and cores are idle.";
  if (id == "offline_preprocess")
    return "Do once what is done for every sample again: store images resized to what the model "
           "sees, tokenised text, decoded audio. Move every step before the first random one.";
  if (id == "load_ahead")
    return "Make batches ahead" + atLine(c.finding.where) +
           ": in a thread with a queue of a few batches, or in processes (PyTorch's DataLoader), "
           "so "
           "that the next one is made while this one is computed.";
  if (id == "more_producers")
    return "Let more threads make batches, and ahead: in tf.data "
           "num_parallel_calls=tf.data.AUTOTUNE "
           "on each map and prefetch(tf.data.AUTOTUNE) at the end, no from_generator or "
           "py_function "
           "in between; in a loop of your own more threads, or processes where Python does the "
           "work.";
  if (id == "more_cores")
    return "Run on a host with " + change.to + " cores (now " + change.from +
           "), and raise num_workers with them.";
  if (id == "single_thread_workers")
    return "Give each worker one thread: OMP_NUM_THREADS=1 in the environment, or "
           "cv2.setNumThreads(0) and torch.set_num_threads(1) in worker_init_fn.";
  if (id == "out_of_order")
    return "Pass in_order=False" + atSetting(c) +
           ": a ready batch is used at once instead of waiting for a slow earlier one.";
  if (id == "cheaper_op")
    return "Make " + change.name + " cheaper, or call it less" + atLine(c.finding.where) + ": " +
           hintFor(c.finding.hot) + ".";
  if (id == "release_the_lock")
    return "Give the work to processes instead of threads (num_workers, or a process pool), or to "
           "a library that releases the lock while it works (Pillow, OpenCV, NumPy on large "
           "arrays do).";
  return {};
}

}  // namespace stallprof
