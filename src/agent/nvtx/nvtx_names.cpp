// SPDX-License-Identifier: MIT
#include "agent/nvtx/nvtx_names.h"

#include <string.h>

#include <atomic>

#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

// Memory that is never touched costs nothing. A name for each step, as some bindings register, are
// many: from three quarters on what is new goes without its number.
constexpr std::size_t kTexts = 2u << 20;
constexpr std::uint32_t kDomains = 64, kStrings = 1u << 16, kCategories = 512;
constexpr std::uint32_t kTableSize = 2 * kStrings;  // of the table by text

char texts[kTexts];
std::size_t textsUsed;
NvtxDomain domains[kDomains];
NvtxString strings[kStrings];
std::uint32_t stringAt[kTableSize];  // 1 + index in `strings`, by hash of the text; 0: free
struct Category {
  const NvtxDomain* domain;
  std::uint32_t number;
  const char* name;
};
Category categories[kCategories];
std::uint32_t domainCount, stringCount;
std::atomic<std::uint32_t> categoryCount;
constinit NvtxDomain otherDomain{"(other)"};
constinit NvtxString otherString{"(other)"};

// Names are given seldom; no call is made under it. fork() copies pages one by one while other
// threads go on: in a child a count may include a name whose text is not there.
std::atomic<std::uint32_t> heldBy;

bool isText(const char* known, const char* text, std::size_t length) {
  return known != nullptr && strncmp(known, text, length) == 0 && known[length] == 0;
}

const char* keepText(const char* text, std::size_t length) {
  if (length + 1 > kTexts - textsUsed) return nullptr;
  char* to = texts + textsUsed;
  memcpy(to, text, length);
  textsUsed += length + 1;  // the arena is zero
  return to;
}

std::size_t lengthOf(const char* text) { return strnlen(text, kRangeNameBytes - 1); }

// The place of the text's first `length` bytes in `stringAt`, or the free one where it belongs.
std::uint32_t placeOf(const char* text, std::size_t length) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (std::size_t i = 0; i < length; ++i)
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 16777619u;
  for (std::uint32_t place = hash % kTableSize;; place = (place + 1) % kTableSize) {
    if (stringAt[place] == 0) return place;
    if (isText(strings[stringAt[place] - 1].text, text, length)) return place;
  }
}

// "step 12" is "step": a step's name says so without its number.
std::size_t withoutNumber(const char* text, std::size_t length) {
  const std::size_t all = length;
  while (length > 0 && text[length - 1] >= '0' && text[length - 1] <= '9') --length;
  if (length == all) return all;
  while (length > 0 && strchr(" #:_-/", text[length - 1]) != nullptr) --length;
  return length;
}

char* putUtf8(char* to, std::uint32_t c) {
  if (c < 0x80) {
    *to++ = static_cast<char>(c);
    return to;
  }
  if (c < 0x800) {
    *to++ = static_cast<char>(0xc0 | (c >> 6));
  } else {
    if (c < 0x10000) {
      *to++ = static_cast<char>(0xe0 | (c >> 12));
    } else {
      *to++ = static_cast<char>(0xf0 | ((c >> 18) & 7));
      *to++ = static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    }
    *to++ = static_cast<char>(0x80 | ((c >> 6) & 0x3f));
  }
  *to++ = static_cast<char>(0x80 | (c & 0x3f));
  return to;
}

}  // namespace

NvtxDomain* domainOf(const char* name) {
  if (name == nullptr) name = "";
  const std::size_t length = lengthOf(name);
  const Lock lock(heldBy);
  for (std::uint32_t i = 0; i < domainCount; ++i)
    if (isText(domains[i].name, name, length)) return &domains[i];
  const char* kept = domainCount < kDomains ? keepText(name, length) : nullptr;
  if (kept == nullptr) return &otherDomain;
  domains[domainCount].name = kept;
  return &domains[domainCount++];
}

NvtxString* registered(const char* text) {
  if (text == nullptr) return &otherString;
  std::size_t length = lengthOf(text);
  const Lock lock(heldBy);
  std::uint32_t place = placeOf(text, length);
  const bool nearlyFull = stringCount >= kStrings / 4 * 3 || textsUsed >= kTexts / 4 * 3;
  if (stringAt[place] == 0 && nearlyFull) {
    length = withoutNumber(text, length);
    place = placeOf(text, length);
  }
  if (stringAt[place] != 0) return &strings[stringAt[place] - 1];
  const char* kept = stringCount < kStrings ? keepText(text, length) : nullptr;
  if (kept == nullptr) return &otherString;
  strings[stringCount].text = kept;
  stringAt[place] = ++stringCount;
  return &strings[stringCount - 1];
}

void nameCategory(const NvtxDomain* domain, std::uint32_t category, const char* name) {
  const Lock lock(heldBy);
  const std::uint32_t count = categoryCount.load();
  const char* kept =
      name != nullptr && count < kCategories ? keepText(name, lengthOf(name)) : nullptr;
  if (kept == nullptr) return;
  categories[count] = {domain, category, kept};
  categoryCount.store(count + 1, std::memory_order_release);
}

void categoryName(const NvtxDomain* domain, std::uint32_t category, char (&name)[64]) {
  Text text = textIn(name);
  if (category == 0) return;
  // The latest first: a category can be renamed.
  for (std::uint32_t i = categoryCount.load(std::memory_order_acquire); i-- != 0;)
    if (categories[i].domain == domain && categories[i].number == category &&
        categories[i].name != nullptr)
      return void(text << categories[i].name);
  text << static_cast<std::int64_t>(category);
}

void narrow(const wchar_t* from, char* to, std::size_t room) {
  constexpr std::size_t kLongest = 4;
  char* const last = to + room - 1;
  while (from != nullptr && *from != 0 && to + kLongest <= last)
    to = putUtf8(to, static_cast<std::uint32_t>(*from++));
  *to = 0;
}

}  // namespace stallprof::agent
