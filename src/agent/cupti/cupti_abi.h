// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "recording/cupti/cupti_records.h"

// What the agent calls of CUPTI's binary interface; the records that CUPTI writes are in
// recording/cupti/cupti_records.h. Declared here instead of included: the agent is built where
// there is no CUDA, and one build runs with every CUPTI from 11.8 to 13, in which all of it has
// been the same. tests/unit/agent compares it with cupti.h where that is installed.
namespace stallprof::agent {

using CuptiResult = int;
inline constexpr CuptiResult kCuptiSuccess = 0, kCuptiNoMoreRecords = 12, kCuptiNotInitialized = 15,
                             kCuptiInsufficientPrivileges = 35, kCuptiMultipleSubscribers = 39;

enum ActivityAttribute : std::uint32_t {
  kAttributeZeroedBuffers = 5,    // uint8_t: we hand out zeroed buffers
  kAttributeHostPinned = 8,       // uint8_t: device buffers in pinned host memory
  kAttributePerThreadBuffer = 9,  // uint8_t
};

inline constexpr std::uint32_t kFlushForced = 1;       // also what is unfinished, without its times
inline constexpr std::uint32_t kThreadIdOfSystem = 1;  // records carry gettid()

enum CallbackDomain : std::uint32_t {
  kDomainDriver = 1,
  kDomainRuntime = 2,
  kDomainResource = 3,
  kDomainState = 6
};
inline constexpr std::uint32_t kResourceContextCreated = 1;
inline constexpr std::uint32_t kStateFatalError = 1, kStateError = 2;
inline constexpr std::uint32_t kRuntimeDeviceReset = 164, kDriverDriverGetVersion = 2;

struct CallbackData {  // of the driver and runtime domains; we read no further
  std::uint32_t site;  // 0: enter, 1: exit
};
struct StateData {
  CuptiResult result;
  const char* message;
};
struct SubscriberParams {  // CUPTI 13.0
  std::size_t structSize;
  const char* subscriberName;
  char* oldSubscriberName;
  std::size_t oldSubscriberSize;
};

using SubscriberHandle = void*;
using CallbackFunction = void (*)(void* user, std::uint32_t domain, std::uint32_t id,
                                  const void* data);
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                 std::size_t size, std::size_t valid);

using GetVersion = CuptiResult (*)(std::uint32_t*);
using Subscribe = CuptiResult (*)(SubscriberHandle*, CallbackFunction, void*);
using SubscribeV2 = CuptiResult (*)(SubscriberHandle*, CallbackFunction, void*, SubscriberParams*);
using Unsubscribe = CuptiResult (*)(SubscriberHandle);
using EnableCallback = CuptiResult (*)(std::uint32_t enable, SubscriberHandle, std::uint32_t domain,
                                       std::uint32_t id);
using RegisterCallbacks = CuptiResult (*)(BufferRequested, BufferCompleted);
using SetKind = CuptiResult (*)(std::uint32_t kind);
using EnableApi = CuptiResult (*)(std::uint32_t id, std::uint8_t enable);
using EnableAllSyncRecords = CuptiResult (*)(std::uint8_t enable);
using FlushAll = CuptiResult (*)(std::uint32_t flag);
using GetNextRecord = CuptiResult (*)(std::uint8_t* buffer, std::size_t valid, void** record);
using GetNumDroppedRecords = CuptiResult (*)(void* context, std::uint32_t stream,
                                             std::size_t* dropped);
using SetAttribute = CuptiResult (*)(std::uint32_t attribute, std::size_t* size, void* value);
using SetThreadIdType = CuptiResult (*)(std::uint32_t type);
using GetTimestamp = CuptiResult (*)(std::uint64_t*);
using Finalize = CuptiResult (*)();
using DriverGetVersion = int (*)(int*);
using DriverSynchronize = int (*)();

}  // namespace stallprof::agent
