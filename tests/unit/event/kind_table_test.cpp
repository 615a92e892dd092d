// SPDX-License-Identifier: MIT
#include <set>
#include <string>

#include "event/event.h"
#include "event/strings.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

struct MakeName {
  template <class P>
  constexpr const char* operator()() const {
    return P::kName;
  }
};

TEST_CASE("every kind has a number and a name of its own") {
  std::set<std::string> names;
  std::size_t entries = 0;
  for (const char* name : tableByKind<const char*>(MakeName{})) {
    if (name == nullptr) continue;
    names.insert(name);
    ++entries;
  }
  // Two kinds of one number would share an entry.
  CHECK(entries == std::variant_size_v<Payload>);
  CHECK(names.size() == entries);
}

TEST_CASE("kind 0 is nobody's: it is padding in the event memory and a string on disk") {
  CHECK(tableByKind<const char*>(MakeName{})[0] == nullptr);
}

template <class... P>
std::size_t doubleFields(std::variant<P...>*) {
  std::size_t doubles = 0;
  const auto count = [&]<class Q>(Q payload) {
    std::set<std::string> names;
    std::size_t fields = 0;
    Q::fields(payload, [&](const char* name, const auto&) {
      names.insert(name);
      ++fields;
    });
    doubles += fields - names.size();
  };
  (count(P{}), ...);
  return doubles;
}

TEST_CASE("no struct names two fields alike") {
  CHECK(doubleFields(static_cast<Payload*>(nullptr)) == 0);
}

TEST_CASE("an enumerator past its names reads as unknown, never past the table") {
  CHECK(nameOf(static_cast<Wait>(200)) == "unknown");
  CHECK(nameOf(static_cast<Phase>(200)) == "unknown");
  CHECK(nameOf(static_cast<SpanSource>(200)) == "unknown");
  CHECK(nameOf(static_cast<LossKind>(200)) == "unknown");
  CHECK(nameOf(static_cast<Coverage>(200)) == "absent");
  CHECK(nameOf(static_cast<FrameKind>(200)) == "other");
  CHECK(nameOf(static_cast<Gil>(200)) == "unknown");
  CHECK(nameOf(Wait::kOther) == "other");
  CHECK(nameOf(LossKind::kEventUnknown) == "event_unknown");
}

TEST_CASE("a text has one id, ids count from 1, the empty text is none") {
  Strings strings;
  CHECK(strings.intern("a") == StringId{1});
  CHECK(strings.intern("b") == StringId{2});
  CHECK(strings.intern("a") == StringId{1});
  CHECK(strings.intern("").none());
  CHECK(strings.at(StringId{2}) == "b");
  CHECK(strings.at(StringId{3}).empty());
  CHECK(strings.find("b") == StringId{2});
  CHECK(strings.find("c").none());
  CHECK(strings.size() == 2);
  CHECK(strings.bytes() == 2);
}

TEST_CASE("views of interned text stay valid as the table grows") {
  Strings strings;
  const StringId first = strings.intern("the first one");
  const std::string_view view = strings.at(first);
  for (int i = 0; i < 10'000; ++i) strings.intern(std::to_string(i));
  CHECK(view == "the first one");
  CHECK(strings.at(first).data() == view.data());
}

}  // namespace
}  // namespace stallprof
