// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallprof::agent {

// The texts that a program gives NVTX once and names by a handle afterwards. Kept for good, in
// memory of bounded size; what has no room gets the handle of "(other)".

// What an nvtxDomainHandle_t and an nvtxStringHandle_t of ours point to.
struct NvtxDomain {
  const char* name;  // "": the default domain, whose handle is null
};
struct NvtxString {
  const char* text;
};

inline constexpr std::size_t kRangeNameBytes = 192;  // a longer one is cut

NvtxDomain* domainOf(const char* name);  // the same for the same name
NvtxString* registered(const char* text);
void nameCategory(const NvtxDomain* domain, std::uint32_t category, const char* name);
// Writes the category's name, or its number where it has none, "" for 0.
void categoryName(const NvtxDomain* domain, std::uint32_t category, char (&name)[64]);

// Wide text as UTF-8, cut to `room` with its zero.
void narrow(const wchar_t* from, char* to, std::size_t room);

}  // namespace stallprof::agent
