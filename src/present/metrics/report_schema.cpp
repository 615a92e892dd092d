// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "present/metrics/report_fields_device.h"
#include "present/metrics/report_json.h"

namespace stallprof {
namespace report {
namespace {

using Schema = nlohmann::ordered_json;

template <class Struct, class Fields>
Schema objectSchema(const Fields& fields);

Schema orNull(Schema schema) {
  if (schema.contains("enum"))
    schema["enum"].push_back(nullptr);
  else if (schema["type"].is_string())
    schema["type"] = Schema::array({schema["type"], "null"});
  return schema;
}

Schema wordsSchema(std::string_view words) {
  Schema out = Schema::array();
  for (std::size_t from = 0; from <= words.size();) {
    const std::size_t to = std::min(words.find('|', from), words.size());
    out.push_back(words.substr(from, to - from));
    from = to + 1;
  }
  return {{"enum", out}};
}

Schema numberSchema(const char* type, const About& about) {
  Schema out = {{"type", type}};
  if (about.minimum != kNoMinimum) out["minimum"] = about.minimum;
  return about.nullable ? orNull(std::move(out)) : out;
}

Schema booleanSchema() { return {{"type", "boolean"}}; }

Schema ratiosSchema(const About& about) {
  return {{"type", {"object", "null"}}, {"additionalProperties", numberSchema("number", about)}};
}

Schema listSchema(Schema items) { return {{"type", "array"}, {"items", std::move(items)}}; }

Schema textSchema(const About& about, bool nullable) {
  if (about.words[0] != '\0') return wordsSchema(about.words);
  Schema out = {{"type", "string"}};
  if (about.pattern != nullptr) out["pattern"] = about.pattern;
  return nullable && !about.optional ? orNull(std::move(out)) : out;
}

Schema structSchema(Schema properties, Schema required) {
  return {
      {"type", "object"}, {"required", std::move(required)}, {"properties", std::move(properties)}};
}

template <class T>
Schema schemaOf(const About& about) {
  if constexpr (std::is_same_v<T, bool>) {
    return booleanSchema();
  } else if constexpr (std::is_floating_point_v<T>) {
    return numberSchema("number", about);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Nanos>) {
    return numberSchema("integer", about);
  } else if constexpr (std::is_same_v<T, Confidence>) {
    return wordsSchema("low|medium|high|verified");
  } else if constexpr (std::is_same_v<T, NamedRatios>) {
    return ratiosSchema(about);
  } else if constexpr (kIsMaybe<T> || std::is_pointer_v<T>) {
    using Value = std::remove_cvref_t<decltype(*std::declval<T>())>;
    return about.optional ? schemaOf<Value>(about) : orNull(schemaOf<Value>(about));
  } else if constexpr (kIsList<T>) {
    return listSchema(schemaOf<typename T::value_type>({}));
  } else if constexpr (kIsValue<T>) {
    return textSchema(about, std::is_same_v<T, TextOrNull>);
  } else {
    return objectSchema<T>(fieldsOf(static_cast<const T*>(nullptr)));
  }
}

void put(Schema& properties, Schema& required, const char* name, const About& about, Schema one) {
  if (about.text[0] != '\0') one["description"] = about.text;
  if (!about.optional) required.push_back(name);
  properties[name] = std::move(one);
}

template <class Struct, class Fields>
Schema objectSchema(const Fields& fields) {
  Schema properties = Schema::object(), required = Schema::array();
  forEach(fields, [&](const auto& f) {
    using F = std::remove_cvref_t<decltype(f)>;
    if constexpr (kIsGroup<F>)
      put(properties, required, f.name, f.about, objectSchema<Struct>(f.fields));
    else
      put(properties, required, f.name, f.about,
          schemaOf<ValueOf<Struct, decltype(F::get)>>(f.about));
  });
  return structSchema(std::move(properties), std::move(required));
}

}  // namespace
}  // namespace report

std::string reportSchema() {
  report::Schema out = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "stallprof report, version 1"},
      {"description",
       "Durations are integer nanoseconds (_ns), sizes bytes (_bytes), shares 0..1 (_ratio). null: "
       "not measured. An object that sums holds only numbers or is null as a whole. Readers must "
       "accept fields they do not know: additive changes keep the version."}};
  out.update(report::schemaOf<Analysis>({}));
  return out.dump(2) + "\n";
}

}  // namespace stallprof
