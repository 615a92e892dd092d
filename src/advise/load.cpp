// SPDX-License-Identifier: MIT
#include "advise/catalogue.h"

namespace stallprof {

std::string loadText(const AdviceContext& c) {
  const std::string& id = c.advice.id;
  const auto& change = c.advice.change;
  if (id == "more_prefetch")
    return "Raise " + settingOf(c, "prefetch_factor") + " from " + change.from + " to " +
           change.to + atSetting(c) + ": more batches lie ready to ride out a slow one.";
  if (id == "pin_memory" && change.kind == "loader_arg")
    return "Pass " + settingOf(c, "pin_memory") + "=True" + atSetting(c) +
           " and copy with .to(device, non_blocking=True): the copy then runs beside the step, and "
           "at the link's speed.";
  if (id == "pin_memory")
    return "Copy from pinned memory (tensor.pin_memory(), or pin_memory=True in the loader that "
           "makes them) with non_blocking=True" +
           atLine(c.finding.where) +
           ": the copy then runs beside the step, and at the link's speed.";
  if (id == "copy_fewer_bytes")
    return "Send batches to the device as uint8, or in half precision, and convert and normalise "
           "them there: a quarter or half of the bytes to pin and to copy.";
  if (id == "persistent_workers")
    return "Pass " + settingOf(c, "persistent_workers") + "=True" + atSetting(c) +
           ": the workers stay alive from pass to pass instead of starting anew.";
  if (id == "uint8_batches")
    return "Send batches as uint8 and convert to float after they arrive: a quarter of the bytes "
           "to copy, map and pin.";
  if (id == "tensors_once")
    return "Let collate_fn return one tensor a field (or numpy arrays) instead of lists of Python "
           "objects, and build each tensor once.";
  if (id == "plain_arrays")
    return "Hold the data set's index in one numpy array or torch tensor instead of Python lists "
           "and dicts: reading an object writes its reference count and copies its page.";
  if (id == "more_shared_memory")
    return "Give the container more shared memory (docker run --shm-size=8g; an emptyDir of "
           "medium Memory on /dev/shm), or lower num_workers x prefetch_factor x batch size.";
  return {};
}

}  // namespace stallprof
