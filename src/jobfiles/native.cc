#include "jobfiles/native.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "jobfiles/draft.h"
#include "jobfiles/sbatch.h"
#include "jobfiles/words.h"
#include "yaml/reader.h"

namespace dove::jobfiles {

namespace {

// Plain scalars as YAML's core schema reads them; all other text stays text.
nlohmann::json scalar(const yaml::Value& value) {
  const std::string& text = value.text;
  if (value.quoted) return text;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::int64_t whole = 0;
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (problem == std::errc() && end == text.data() + text.size()) return whole;
  // Numbers beyond 64 bits and fractions become doubles, which the codec refuses by field.
  double number = 0;
  auto [end2, problem2] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool digits = text.find_first_of("0123456789") != std::string::npos;
  if (problem2 == std::errc() && end2 == text.data() + text.size() && digits) return number;
  return text;
}

// The 16 bits of "\ud83d" at the beginning; 0: there are none.
std::uint32_t escaped(std::string_view text) {
  constexpr std::size_t kLength = 6;
  std::uint32_t code = 0;
  if (text.size() < kLength || !text.starts_with("\\u")) return 0;
  const auto [end, problem] = std::from_chars(text.data() + 2, text.data() + kLength, code, 16);
  return problem == std::errc() && end == text.data() + kLength ? code : 0;
}

// JSON writes a character beyond 16 bits as two escapes, YAML as one: "\ud83d\ude80" becomes
// "\U0001f680".
std::string with_whole_escapes(std::string_view json) {
  std::string text;
  while (!json.empty()) {
    const std::uint32_t high = escaped(json);
    const std::uint32_t low = high == 0 ? 0 : escaped(json.substr(6));
    std::size_t taken = json[0] == '\\' ? 2 : 1;  // an escaped backslash begins no escape
    if (high >> 10 == 0xd800 >> 10 && low >> 10 == 0xdc00 >> 10) {
      text += fmt::format("\\U{:08x}", 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff));
      taken = 12;
    } else {
      text += json.substr(0, taken);
    }
    json.remove_prefix(std::min(taken, json.size()));
  }
  return text;
}

Result<nlohmann::json> to_json(const yaml::Value& value) {
  switch (value.kind) {
    case yaml::Value::Kind::kNull:
      return nlohmann::json(nullptr);
    case yaml::Value::Kind::kScalar:
      return scalar(value);
    case yaml::Value::Kind::kList: {
      nlohmann::json list = nlohmann::json::array();
      for (const yaml::ValueRef& item : value.values) {
        TRY_ASSIGN(nlohmann::json element, to_json(*item));
        list.push_back(std::move(element));
      }
      return list;
    }
    case yaml::Value::Kind::kMap: {
      nlohmann::json map = nlohmann::json::object();
      for (std::size_t i = 0; i < value.keys.size(); ++i) {
        const std::string& key = value.keys[i]->text;
        if (map.contains(key)) {
          return at_place(
              invalid(fmt::format("the key {} is given twice", shown(key)), "repeated_key"),
              value.keys[i]->place);
        }
        TRY_ASSIGN(map[key], to_json(*value.values[i]));
      }
      return map;
    }
  }
  return nlohmann::json(nullptr);
}

// Where the codec's path ("groups[0].cores") lies in the file: the deepest value it names.
Place find_place(const yaml::ValueRef& root, std::string_view path) {
  const yaml::Value* at = root.get();
  std::size_t i = 0;
  while (i < path.size()) {
    if (path[i] == '.') {
      ++i;
      continue;
    }
    const yaml::Value* next = nullptr;
    if (path[i] == '[') {
      std::size_t close = path.find(']', i);
      if (close == std::string_view::npos) break;
      auto index = to_number(path.substr(i + 1, close - i - 1));
      if (index && at->kind == yaml::Value::Kind::kList &&
          *index < static_cast<std::int64_t>(at->values.size())) {
        next = at->values[static_cast<std::size_t>(*index)].get();
      }
      i = close + 1;
    } else {
      std::size_t end = std::min(path.find_first_of(".[", i), path.size());
      for (std::size_t k = 0; k < at->keys.size(); ++k) {
        if (at->keys[k]->text == path.substr(i, end - i)) next = at->values[k].get();
      }
      i = end;
    }
    if (next == nullptr) break;
    at = next;
  }
  return at->place;
}

}  // namespace

Result<ParsedJob> parse_native(const Source& source, const Context& context) {
  const bool may_be_json = source.text.starts_with('{');
  TRY_ASSIGN(yaml::ValueRef root,
             yaml::read(source.name, may_be_json ? with_whole_escapes(source.text) : source.text,
                        {}, "job"));
  if (root->kind != yaml::Value::Kind::kMap) {
    return at_place(
        invalid("a job must be a map of fields such as name, command, groups", "wrong_type"),
        Place{source.name, 1, 1});
  }
  TRY_ASSIGN(nlohmann::json body, to_json(*root));
  auto submission = codec::read_submission(body);
  if (!submission.ok()) {
    Error error = submission.error();
    Place place = find_place(root, error.field);
    place.file = source.name;
    if (!error.field.empty() && error.message.find(error.field) == std::string::npos) {
      error.message = fmt::format("{}: {}", error.field, error.message);
    }
    error.field.clear();
    return at_place(std::move(error), place);
  }
  return finish_native(std::move(*submission), source.name, context);
}

Result<ParsedJob> finish_native(codec::Submission submission, const std::string& name,
                                const Context& context) {
  Draft draft;
  draft.context = &context;
  draft.submission = std::move(submission);
  ExecSpec& exec = draft.submission.exec;
  if (exec.source_name.empty()) exec.source_name = name;
  const std::string own_name = draft.submission.spec.name;
  TRY(apply_overrides(draft, false));
  if (draft.submission.spec.name.empty()) draft.submission.spec.name = own_name;
  // A command without sizes of its own is sized as sbatch sizes a script.
  const std::vector<TaskGroup>& groups = draft.submission.spec.groups;
  const bool unsized = groups.size() == 1 && groups[0] == TaskGroup();
  TRY(unsized && draft.sizes.any() ? finish_sizes(draft) : adjust_group(draft));
  finish_affinity(draft);
  TRY(finish_environment(draft, false));
  finish_output_paths(draft);
  return ParsedJob{std::move(draft.submission), std::move(draft.warnings), {}, draft.behaviour};
}

}  // namespace dove::jobfiles
