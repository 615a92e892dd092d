// SPDX-License-Identifier: MIT
//
// What NVTX's headers, compiled into the program and its libraries, call in place of themselves.
#include <string.h>

#include <atomic>

#include "agent/nvtx/nvtx_abi.h"
#include "agent/nvtx/ranges.h"
#include "agent/process/event_slot.h"
#include "agent/process/forks.h"
#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

// What libraries attach to their ranges: blobs, laid out by schemas that they register first. Read
// of them is the one number that NCCL's say: an entry named "Message size [bytes]" or so.

constexpr std::uint32_t kSchemas = 128;         // NCCL 2.28 registers 20
constexpr std::size_t kMaxEntries = 64;         // a schema's; the rest is ignored
constexpr std::int32_t kMaxPayloads = 8;        // a range's
constexpr std::size_t kUnknownSize = SIZE_MAX;  // "find out yourself"

// Where in a schema's blob its bytes are.
struct BytesPlace {
  const NvtxDomain* domain;
  std::uint64_t schema;
  std::uint32_t offset, width;
};
BytesPlace places[kSchemas];
std::atomic<std::uint32_t> placeCount;
std::atomic<std::uint64_t> dynamicIds;

std::atomic<std::uint32_t> heldPayloads;  // schemas are registered seldom; no call is made under it

// Of an entry that is one unsigned number; 0: it is not.
std::uint32_t widthOf(const NvtxSchemaEntry& entry) {
  if (entry.flags != 0) return 0;  // an array, a pointer, a text
  switch (entry.type) {
    case kEntryUint32:
      return 4;
    case kEntryInt64:
    case kEntryUint64:
    case kEntrySize:
      return 8;
    default:
      return 0;
  }
}

bool saysBytes(const char* name) { return name != nullptr && strcasestr(name, "bytes") != nullptr; }

// False: no entry says bytes, or none says where.
bool findBytes(const NvtxSchema& schema, BytesPlace& place) {
  if ((schema.mask & kSchemaEntries) != kSchemaEntries || schema.entries == nullptr) return false;
  for (std::size_t i = 0; i < schema.count && i < kMaxEntries; ++i) {
    const NvtxSchemaEntry& entry = schema.entries[i];
    if (!saysBytes(entry.name) || (i != 0 && entry.offset == 0)) continue;
    place.width = widthOf(entry);
    place.offset = static_cast<std::uint32_t>(entry.offset);
    if (place.width != 0 && entry.offset <= UINT32_MAX) return true;
  }
  return false;
}

const BytesPlace* placeOf(const NvtxDomain* domain, std::uint64_t schema) {
  for (std::uint32_t i = placeCount.load(std::memory_order_acquire); i-- != 0;)
    if (places[i].domain == domain && places[i].schema == schema) return &places[i];
  return nullptr;
}

// Keeps where a schema of `domain` has its bytes, if it has; the schema's id, new where it has none
// of its own.
std::uint64_t keepSchema(const NvtxDomain* domain, const NvtxSchema* schema) {
  if (schema == nullptr) return 0;
  BytesPlace place{domain, schema->id, 0, 0};
  if ((schema->mask & kSchemaHasId) == 0) place.schema = kDynamicSchemas + dynamicIds++;
  if (!findBytes(*schema, place)) return place.schema;
  const Lock lock(heldPayloads);
  const std::uint32_t count = placeCount.load();
  if (count == kSchemas) return place.schema;
  places[count] = place;
  placeCount.store(count + 1, std::memory_order_release);
  return place.schema;
}

// The bytes that the payloads of a range say; -1: none does.
std::int64_t payloadBytes(const NvtxDomain* domain, const NvtxAttributes& attributes) {
  if (attributes.payloadType != kPayloadExtended) return -1;
  const auto* payloads = reinterpret_cast<const NvtxPayload*>(attributes.payload);
  if (payloads == nullptr) return -1;
  for (std::int32_t i = 0; i < attributes.payloadCount && i < kMaxPayloads; ++i) {
    const BytesPlace* place = placeOf(domain, payloads[i].schema);
    if (place == nullptr || payloads[i].data == nullptr) continue;
    const std::size_t size = payloads[i].size;
    if (size == kUnknownSize || size < std::size_t{place->offset} + place->width) continue;
    std::uint64_t bytes = 0;
    memcpy(&bytes, static_cast<const char*>(payloads[i].data) + place->offset, place->width);
    if (bytes <= INT64_MAX) return static_cast<std::int64_t>(bytes);
  }
  return -1;
}

RangeBegin beginNow(const NvtxDomain* domain) {
  RangeBegin begin;  // the name is written by whoever asks, and only as far as it goes
  begin.at = monotonicNs();
  begin.tid = threadId();
  begin.category = begin.depth = 0;
  begin.bytes = -1;
  begin.domain = domain;
  begin.name[0] = 0;
  return begin;
}

RangeBegin named(const char* name) {
  RangeBegin begin = beginNow(nullptr);
  if (name != nullptr) textIn(begin.name) << name;
  return begin;
}

RangeBegin named(const wchar_t* name) {
  RangeBegin begin = beginNow(nullptr);
  narrow(name, begin.name, sizeof begin.name);
  return begin;
}

RangeBegin described(const NvtxDomain* domain, const NvtxAttributes* attributes) {
  RangeBegin begin = beginNow(domain);
  if (attributes == nullptr || attributes->size < kNvtxAttributesBytes) return begin;
  begin.category = attributes->category;
  begin.bytes = payloadBytes(domain, *attributes);
  const void* message = attributes->message;
  if (message == nullptr) return begin;
  if (attributes->messageType == kMessageAscii)
    textIn(begin.name) << static_cast<const char*>(message);
  else if (attributes->messageType == kMessageUnicode)
    narrow(static_cast<const wchar_t*>(message), begin.name, sizeof begin.name);
  else if (attributes->messageType == kMessageRegistered)
    textIn(begin.name) << static_cast<const NvtxString*>(message)->text;
  return begin;
}

using Attributes = const NvtxAttributes*;
using Domain = NvtxDomain*;

struct Narrow {  // of a wide name
  char text[kRangeNameBytes];
  explicit Narrow(const wchar_t* wide) { narrow(wide, text, sizeof text); }
};

void onMarkEx(Attributes a) { mark(described(nullptr, a)); }
void onMarkA(const char* name) { mark(named(name)); }
void onMarkW(const wchar_t* name) { mark(named(name)); }
std::uint64_t onStartEx(Attributes a) { return startRange(described(nullptr, a)); }
std::uint64_t onStartA(const char* name) { return startRange(named(name)); }
std::uint64_t onStartW(const wchar_t* name) { return startRange(named(name)); }
void onEnd(std::uint64_t id) { endRange(id); }
int onPushEx(Attributes a) { return pushRange(described(nullptr, a)); }
int onPushA(const char* name) { return pushRange(named(name)); }
int onPushW(const wchar_t* name) { return pushRange(named(name)); }
int onPop() { return popRange(nullptr); }
void onCategoryA(std::uint32_t category, const char* name) {
  nameCategory(nullptr, category, name);
}
void onCategoryW(std::uint32_t category, const wchar_t* name) {
  nameCategory(nullptr, category, Narrow(name).text);
}

void onDomainMark(Domain d, Attributes a) { mark(described(d, a)); }
std::uint64_t onDomainStart(Domain d, Attributes a) { return startRange(described(d, a)); }
void onDomainEnd(Domain, std::uint64_t id) { endRange(id); }
int onDomainPush(Domain d, Attributes a) { return pushRange(described(d, a)); }
int onDomainPop(Domain d) { return popRange(d); }
void onDomainCategoryA(Domain d, std::uint32_t category, const char* name) {
  nameCategory(d, category, name);
}
void onDomainCategoryW(Domain d, std::uint32_t category, const wchar_t* name) {
  nameCategory(d, category, Narrow(name).text);
}
NvtxString* onRegisterA(Domain, const char* text) { return registered(text); }
NvtxString* onRegisterW(Domain, const wchar_t* text) { return registered(Narrow(text).text); }
Domain onDomainCreateA(const char* name) { return domainOf(name); }
Domain onDomainCreateW(const wchar_t* name) { return domainOf(Narrow(name).text); }

struct Table {
  NvtxFunctionTable entries = nullptr;
  unsigned size = 0;
  template <class F>
  void set(std::uint32_t id, F* function) const {
    if (id < size) *entries[id] = reinterpret_cast<NvtxFunction>(function);
  }
};

void hookCore(const Table& t) {
  t.set(kMarkEx, onMarkEx);
  t.set(kMarkA, onMarkA);
  t.set(kMarkW, onMarkW);
  t.set(kRangeStartEx, onStartEx);
  t.set(kRangeStartA, onStartA);
  t.set(kRangeStartW, onStartW);
  t.set(kRangeEnd, onEnd);
  t.set(kRangePushEx, onPushEx);
  t.set(kRangePushA, onPushA);
  t.set(kRangePushW, onPushW);
  t.set(kRangePop, onPop);
  t.set(kNameCategoryA, onCategoryA);
  t.set(kNameCategoryW, onCategoryW);
}

void hookCore2(const Table& t) {
  t.set(kDomainMarkEx, onDomainMark);
  t.set(kDomainRangeStartEx, onDomainStart);
  t.set(kDomainRangeEnd, onDomainEnd);
  t.set(kDomainRangePushEx, onDomainPush);
  t.set(kDomainRangePop, onDomainPop);
  t.set(kDomainNameCategoryA, onDomainCategoryA);
  t.set(kDomainNameCategoryW, onDomainCategoryW);
  t.set(kDomainRegisterStringA, onRegisterA);
  t.set(kDomainRegisterStringW, onRegisterW);
  t.set(kDomainCreateA, onDomainCreateA);
  t.set(kDomainCreateW, onDomainCreateW);
}

void hookAll(NvtxGetExportTable get) {
  const auto* callbacks = static_cast<const NvtxCallbacks*>(get(kNvtxCallbacks));
  if (callbacks == nullptr || callbacks->structSize < sizeof *callbacks || !openEvents()) return;
  guardForks();
  Table table;
  if (callbacks->getModuleFunctionTable(kNvtxCore, &table.entries, &table.size) != 0)
    hookCore(table);
  if (callbacks->getModuleFunctionTable(kNvtxCore2, &table.entries, &table.size) != 0)
    hookCore2(table);
}

std::uint64_t onSchemaRegister(Domain d, const NvtxSchema* schema) { return keepSchema(d, schema); }
std::uint8_t onDomainIsEnabled(Domain) { return 1; }

void hookPayloads(const NvtxModuleInfo& module) {
  if (module.module != kNvtxPayloadModule || module.segments == 0 || module.segment == nullptr)
    return;
  const NvtxSegment& segment = *module.segment;
  const auto set = [&](std::size_t index, auto* function) {
    if (index < segment.slots) segment.functions[index] = reinterpret_cast<std::intptr_t>(function);
  };
  set(kSchemaRegister, onSchemaRegister);
  set(kDomainIsEnabled, onDomainIsEnabled);
}

}  // namespace
}  // namespace stallprof::agent

// Called likewise, at the first use of an extension; what stays unset is off.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    stallprof::agent::NvtxModuleInfo* module) {
  if (module != nullptr && module->structSize >= sizeof *module)
    stallprof::agent::hookPayloads(*module);
  return 1;
}

// Called by each library that has NVTX in it, at its first use. Always 1: otherwise it would unload
// us, and the library's ranges are off without us as well.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    stallprof::agent::NvtxGetExportTable get) {
  stallprof::agent::hookAll(get);
  return 1;
}
