// SPDX-License-Identifier: MIT
#pragma once

#include "event/device_events.h"
#include "recording/activity/activity_spans.h"
#include "recording/cupti/activity_records.h"

namespace stallprof {

// What a record of work is, its size and its shape; times, names and places are the caller's.
// `collective`: of a kernel, that its name says so.
[[nodiscard]] DeviceWork workOfRecord(const ActivityRecord& record, bool collective);

[[nodiscard]] BusyWith busyWith(DeviceWorkKind kind);

}  // namespace stallprof
