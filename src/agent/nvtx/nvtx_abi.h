// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

// What the agent needs of NVTX 3's interface between its headers, compiled into programs, and a
// tool. Declared here for the same reason as cupti_abi.h, and compared with the headers likewise.
namespace stallprof::agent {

enum NvtxExportTable : std::uint32_t { kNvtxCallbacks = 1 };
enum NvtxModule : int { kNvtxCore = 1, kNvtxCore2 = 5 };

enum NvtxCore : std::uint32_t {
  kMarkEx = 1,
  kMarkA,
  kMarkW,
  kRangeStartEx,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
  kNameCategoryA,
  kNameCategoryW,
};
enum NvtxCore2 : std::uint32_t {
  kDomainMarkEx = 1,
  kDomainRangeStartEx,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainNameCategoryA = 8,
  kDomainNameCategoryW,
  kDomainRegisterStringA,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW,
};

enum NvtxMessageType : std::int32_t {
  kMessageAscii = 1,
  kMessageUnicode = 2,
  kMessageRegistered = 3
};
inline constexpr std::int32_t kPayloadExtended = static_cast<std::int32_t>(0xDFBD0009u);

struct NvtxAttributes {  // nvtxEventAttributes_t, version 2
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t colorType;
  std::uint32_t color;
  std::int32_t payloadType, payloadCount;
  std::uint64_t payload;
  std::int32_t messageType;
  const void* message;
};
inline constexpr std::size_t kNvtxAttributesBytes = 48;

// ---- the payload extension (nvToolsExtPayload.h): schemas, and blobs that they lay out

struct NvtxPayload {  // nvtxPayloadData_t; `payloadCount` of them are at `payload`
  std::uint64_t schema;
  std::size_t size;
  const void* data;
};
enum NvtxEntryType : std::uint64_t {
  kEntryUint32 = 16,
  kEntryInt64 = 17,
  kEntryUint64 = 18,
  kEntrySize = 22
};
struct NvtxSchemaEntry {  // nvtxPayloadSchemaEntry_t
  std::uint64_t flags, type;
  const char *name, *description;
  std::uint64_t detail, offset;
  const void *semantics, *reserved;
};
inline constexpr std::uint64_t kSchemaEntries = (1 << 4) | (1 << 5), kSchemaHasId = 1 << 8;
inline constexpr std::uint64_t kDynamicSchemas = std::uint64_t{1} << 32;
struct NvtxSchema {  // nvtxPayloadSchemaAttr_t
  std::uint64_t mask;
  const char* name;
  std::uint64_t type, flags;
  const NvtxSchemaEntry* entries;
  std::size_t count, staticSize, align;
  std::uint64_t id;
  void* extension;
};
struct NvtxSegment {  // nvtxExtModuleSegment_t
  std::size_t id, slots;
  std::intptr_t* functions;
};
struct NvtxModuleInfo {  // nvtxExtModuleInfo_t
  std::uint16_t version, structSize, module, compatible;
  std::size_t segments;
  NvtxSegment* segment;
  const void *getExport, *info;
};
inline constexpr std::uint16_t kNvtxPayloadModule = 2;
enum NvtxPayloadSlot : std::size_t { kSchemaRegister = 0, kDomainIsEnabled = 7 };

using NvtxFunction = void (*)();
using NvtxFunctionTable = NvtxFunction**;
struct NvtxCallbacks {
  std::size_t structSize;
  int (*getModuleFunctionTable)(int module, NvtxFunctionTable* table, unsigned* size);
};
using NvtxGetExportTable = const void* (*)(std::uint32_t id);

}  // namespace stallprof::agent
