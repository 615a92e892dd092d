// SPDX-License-Identifier: MIT
#include "agent/nvtx/nvtx_payload.h"

#include <string.h>

#include <atomic>

#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

constexpr std::uint32_t kSchemas = 128;         // NCCL 2.28 registers 20
constexpr std::size_t kMaxEntries = 64;         // a schema's; the rest is ignored
constexpr std::int32_t kMaxPayloads = 8;        // a range's
constexpr std::size_t kUnknownSize = SIZE_MAX;  // "find out yourself"

// Where in a schema's blob its bytes are.
struct Place {
  const NvtxDomain* domain;
  std::uint64_t schema;
  std::uint32_t offset, width;
};
Place places[kSchemas];
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
bool findBytes(const NvtxSchema& schema, Place& place) {
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

const Place* placeOf(const NvtxDomain* domain, std::uint64_t schema) {
  for (std::uint32_t i = placeCount.load(std::memory_order_acquire); i-- != 0;)
    if (places[i].domain == domain && places[i].schema == schema) return &places[i];
  return nullptr;
}

}  // namespace

std::uint64_t keepSchema(const NvtxDomain* domain, const NvtxSchema* schema) {
  if (schema == nullptr) return 0;
  Place place{domain, schema->id, 0, 0};
  if ((schema->mask & kSchemaHasId) == 0) place.schema = kDynamicSchemas + dynamicIds++;
  if (!findBytes(*schema, place)) return place.schema;
  const Lock lock(heldPayloads);
  const std::uint32_t count = placeCount.load();
  if (count == kSchemas) return place.schema;
  places[count] = place;
  placeCount.store(count + 1, std::memory_order_release);
  return place.schema;
}

std::int64_t payloadBytes(const NvtxDomain* domain, const NvtxAttributes& attributes) {
  if (attributes.payloadType != kPayloadExtended) return -1;
  const auto* payloads = reinterpret_cast<const NvtxPayload*>(attributes.payload);
  if (payloads == nullptr) return -1;
  for (std::int32_t i = 0; i < attributes.payloadCount && i < kMaxPayloads; ++i) {
    const Place* place = placeOf(domain, payloads[i].schema);
    if (place == nullptr || payloads[i].data == nullptr) continue;
    const std::size_t size = payloads[i].size;
    if (size == kUnknownSize || size < place->offset + place->width) continue;
    std::uint64_t bytes = 0;
    memcpy(&bytes, static_cast<const char*>(payloads[i].data) + place->offset, place->width);
    if (bytes <= INT64_MAX) return static_cast<std::int64_t>(bytes);
  }
  return -1;
}

}  // namespace stallprof::agent
