// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "event/device_events.h"
#include "recording/activity/activity_spans.h"
#include "recording/cupti/activity_records.h"

namespace stallprof {

// Kernels of NCCL and its kin, by their mangled names.
[[nodiscard]] bool isCollective(std::string_view name);

// What a record of work is, its size and its shape; times, names and places are the caller's.
// `collective`: of a kernel, that its name says so.
[[nodiscard]] DeviceWork workOfRecord(const ActivityRecord& record, bool collective);

[[nodiscard]] BusyWith busyWith(DeviceWorkKind kind);

}  // namespace stallprof
