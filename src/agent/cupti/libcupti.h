// SPDX-License-Identifier: MIT
#pragma once

#include "agent/cupti/cupti_abi.h"

namespace stallprof::agent {

// The CUPTI of this process. Pointers that not every version has may be null: see `optional`.
struct Cupti {
  std::uint32_t version = 0;
  int driverVersion = 0;  // 12080: CUDA 12.8; 0: unknown
  DriverGetVersion driverGetVersion;
  DriverSynchronize driverSynchronize;  // of the thread's current context
  GetVersion getVersion;
  Subscribe subscribe;
  Unsubscribe unsubscribe;
  EnableCallback enableCallback;
  RegisterCallbacks registerCallbacks;
  SetKind enable, disable;
  FlushAll flushAll;
  GetNextRecord nextRecord;
  GetNumDroppedRecords droppedRecords;
  SetAttribute setAttribute;
  GetTimestamp timestamp;
  // optional
  SubscribeV2 subscribeV2;
  SetThreadIdType setThreadIdType;
  EnableApi enableRuntimeApi, enableDriverApi;
  EnableAllSyncRecords enableAllSyncRecords;
  Finalize finalize;  // null before 12.6, where it crashes programs with CUDA graphs
};

// Finds the CUPTI this process uses or, if it has none yet, the one its CUDA would load; fills
// `cupti` but for what is a choice. Only to be called where libcuda is loaded: CUPTI's first call
// would load it. Null: found and trusted; else why not, in words.
const char* findCupti(Cupti& cupti);

}  // namespace stallprof::agent
