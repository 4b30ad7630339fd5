// dove apply, diff, get, delete: what there shall be.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/pages.h"
#include "cli/client/views.h"
#include "cli/commands/kubernetes_objects.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/yaml_text.h"
#include "text/spelling.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kFileBytesMax = 16 << 20;

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> kKinds = {
      "Cluster",  "Pool",        "Queue",    "Node",   "Limit",     "User",
      "Project",  "Reservation", "Domain",   "Group",  "Binding",   "Executor",
      "IdleRule", "App",         "Settings", "Secret", "BootConfig"};
  return kKinds;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "A, B, C", as lines of a description, of which the first begins behind `before` characters.
std::string listed(const std::vector<std::string>& words, std::size_t before) {
  constexpr std::size_t kLine = 88;
  std::string all;
  std::size_t at = before;
  for (const std::string& word : words) {
    const bool is_last = &word == &words.back();
    const bool is_full = at + word.size() + 2 > kLine;
    if (!all.empty()) all += is_full ? "\n" : " ";
    at = (is_full ? 0 : at + 1) + word.size() + 1;
    all += word + (is_last ? "" : ",");
  }
  return all;
}

// "pool", "Pools", "pool/gpu": the kind as the API has it.
Result<std::string> kind_of(const std::string& word) {
  std::vector<std::string> known;
  for (const std::string& kind : kinds()) {
    known.push_back(lower(kind));
    if (lower(word) == known.back() || lower(word) == known.back() + "s") return kind;
  }
  const std::string_view near = text::nearest(word, known);
  return usage_error(fmt::format("there is no kind '{}'{}: kinds are {}", word,
                                 near.empty() ? "" : fmt::format(", did you mean {}?", near),
                                 fmt::join(known, ", ")));
}

std::string target_of(const std::string& kind, const std::string& name) {
  return "/v1/objects/" + wire::percent_encode(kind) + "/" + wire::percent_encode(name);
}

Result<std::vector<json>> read_objects(const std::string& path) {
  std::ifstream file(path == "-" ? "/dev/stdin" : path, std::ios::binary);
  std::error_code error;
  if (!file || std::filesystem::is_directory(path, error)) {
    return usage_error(fmt::format("{}: cannot be read", path));
  }
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.size() > kFileBytesMax) return usage_error(fmt::format("{}: over 16 MiB", path));
  TRY_ASSIGN(const std::vector<json> documents, read_yaml(path, text));
  std::vector<json> objects;
  for (const json& document : documents) {
    if (document.is_array()) {
      objects.insert(objects.end(), document.begin(), document.end());
    } else if (document.is_object() && document.contains("objects")) {
      const json& list = list_of(document, "objects");
      objects.insert(objects.end(), list.begin(), list.end());
    } else {
      objects.push_back(document);
    }
  }
  int number = 0;
  std::vector<std::string> warnings;
  for (json& object : objects) {
    ++number;
    if (is_kubernetes_object(object)) {
      auto read = from_kubernetes(object, warnings);
      if (!read.ok()) return usage_error(fmt::format("{}: {}", path, read.error().message));
      object = std::move(read).value();
    }
    if (text_of(object, "kind").empty() ||
        (text_of(object, "name").empty() && text_of(object, "kind") != "Cluster")) {
      return usage_error(fmt::format("{}: object {} has no kind and name", path, number));
    }
    TRY_ASSIGN(object["kind"], kind_of(text_of(object, "kind")));
  }
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
  return objects;
}

Result<std::vector<json>> read_all(const Invocation& invocation) {
  std::vector<std::string> files = invocation.all("file");
  files.insert(files.end(), invocation.operands.begin(), invocation.operands.end());
  if (files.empty()) return usage_error("name a file with -f, or - for stdin");
  std::vector<json> objects;
  for (const std::string& path : files) {
    TRY_ASSIGN(const std::vector<json> some, read_objects(path));
    objects.insert(objects.end(), some.begin(), some.end());
  }
  return objects;
}

std::string label_of(const json& object) {
  return lower(text_of(object, "kind")) + "/" + text_of(object, "name");
}

const char* change_word(const json& answer) {
  const std::string change = text_of(answer, "change");
  return change == "none" ? "unchanged" : change == "create" ? "created" : "changed";
}

void print_warnings(const json& change) {
  for (const json& warning : list_of(change, "warnings")) {
    if (!warning.is_string()) continue;
    fmt::print(stderr, "warning: {}: {}\n", label_of(change.value("object", json::object())),
               warning.get<std::string>());
  }
}

Result<int> run_apply(const Invocation& invocation) {
  TRY_ASSIGN(const std::vector<json> objects, read_all(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  const bool dry = invocation.has("dry-run");
  TRY_ASSIGN(const json answer, api.send("POST", dry ? "/v1/objects?dry_run=1" : "/v1/objects",
                                         json{{"objects", objects}}));
  for (const json& change : list_of(answer, "changes")) {
    print_warnings(change);
    print(fmt::format("{} {}{}\n", label_of(change.value("object", json::object())),
                      change_word(change), dry ? " (dry run)" : ""));
  }
  return kExitOk;
}

void print_changes(const json& before, const json& after, const std::string& label, bool colours) {
  print(styled(fmt::format("{} {}\n", before.is_null() ? "+" : "~", label), "1", colours));
  const json old = before.is_object() ? before : json::object();
  for (const auto& [key, value] : old.items()) {
    if (after.contains(key)) continue;
    print(styled(fmt::format("  - {}: {}\n", key, value.dump()), "31", colours));
  }
  for (const auto& [key, value] : after.items()) {
    const json* had = old.contains(key) ? &old[key] : nullptr;
    if (key == "version" || (had != nullptr && *had == value)) continue;
    if (had != nullptr) print(styled(fmt::format("  - {}: {}\n", key, had->dump()), "31", colours));
    print(styled(fmt::format("  + {}: {}\n", key, value.dump()), "32", colours));
  }
}

// Exits with 1 when something would change, like diff(1).
Result<int> run_diff(const Invocation& invocation) {
  TRY_ASSIGN(const std::vector<json> objects, read_all(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer,
             api.send("POST", "/v1/objects?dry_run=1", json{{"objects", objects}}));
  bool differs = false;
  for (const json& change : list_of(answer, "changes")) {
    if (text_of(change, "change") == "none") continue;
    const json before = change.value("before", json());
    const json after = change.value("object", json::object());
    differs = true;
    print_changes(before, after, label_of(after), colours_on());
  }
  return differs ? kExitFailed : kExitOk;
}

Result<int> run_get(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  std::string word = invocation.operands[0];
  std::string name = invocation.operands.size() > 1 ? invocation.operands[1] : "";
  if (const std::size_t slash = word.find('/'); slash != std::string::npos) {
    name = word.substr(slash + 1);
    word.resize(slash);
  }
  std::vector<std::string> wanted = kinds();
  if (word != "all") {
    TRY_ASSIGN(const std::string kind, kind_of(word));
    wanted = {kind};
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  json found = json::array();
  for (const std::string& kind : wanted) {
    const std::string list = "/v1/objects?kind=" + kind + labels_query(invocation.all("labels"));
    TRY_ASSIGN(const json answer, get_all(api, list, "objects"));
    for (const json& object : items_of(answer, "objects")) {
      if (name.empty() || text_of(object, "name") == name) found.push_back(object);
    }
  }
  if (!name.empty() && found.empty()) {
    return Error{ErrorKind::kNotFound, "not_found",
                 fmt::format("there is no {} '{}'", lower(wanted[0]), name), ""};
  }
  if (format == Format::kJson) {
    print_value(name.empty() ? json{{"objects", found}} : found[0], format);
  } else if (format == Format::kYaml) {
    for (std::size_t i = 0; i < found.size(); ++i)
      print((i > 0 ? "---\n" : "") + yaml_text(found[i]));
  } else if (format == Format::kName) {
    for (const json& object : found) print(label_of(object) + "\n");
  } else {
    Table table({{"KIND"}, {"NAME"}, {"SETTINGS"}});
    for (json object : found) {
      const std::vector<Cell> begin = {{text_of(object, "kind"), ""},
                                       {text_of(object, "name"), ""}};
      for (const char* known : {"kind", "name", "version"}) object.erase(known);
      table.add({begin[0], begin[1], {object.dump(), ""}});
    }
    print(table.text(colours_on()));
  }
  return kExitOk;
}

Result<int> run_delete(const Invocation& invocation) {
  std::string word = invocation.operands[0];
  std::string name = invocation.operands.size() > 1 ? invocation.operands[1] : "";
  if (const std::size_t slash = word.find('/'); slash != std::string::npos) {
    name = word.substr(slash + 1);
    word.resize(slash);
  }
  TRY_ASSIGN(const std::string kind, kind_of(word));
  if (name.empty()) return usage_error(fmt::format("name the {} to delete", lower(kind)));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY(api.send("DELETE", target_of(kind, name), json()));
  print(fmt::format("{}/{} deleted\n", lower(kind), name));
  return kExitOk;
}

CommandSpec spec_of(const std::string& name, const std::string& summary,
                    const std::string& operands) {
  CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.group = "Declared state";
  spec.operands = operands;
  return spec;
}

}  // namespace

std::vector<Command> declared_commands() {
  const OptionSpec file = {"file", 'f', "FILE", "YAML or JSON of the objects; - is stdin", true};
  CommandSpec apply = spec_of(
      "apply", "Create or change what files declare: pools, queues, users and more", "[FILE...]");
  apply.operands_max = -1;
  apply.completes = "file";
  apply.description =
      "A file holds objects, separated by ---, each with kind and name. The kinds are\n" +
      listed(kinds(), 0) +
      ";\ndocs/operate/kinds.md has their fields. All objects of the files are applied, or none.\n"
      "Applying twice changes nothing. Fields that a file leaves out stay as they are; null\n"
      "resets a field to its default. Members of limits and guaranteed are fields of their own;\n"
      "lists and other maps are replaced as a whole. An object with the version that `dove get`\n"
      "printed is refused if it was changed since. Any object may have labels (labels: {team:\n"
      "vision}), by which `dove get` and `dove nodes` find it. Objects of Kubernetes and Kueue\n"
      "are read too: a ResourceQuota as a project, a ClusterQueue or a Cohort as a queue.";
  apply.options = {file, {"dry-run", 0, "", "only check"}};
  CommandSpec diff = spec_of("diff", "Show what apply would change", "[FILE...]");
  diff.operands_max = -1;
  diff.completes = "file";
  diff.description = "Exits with 1 when something would change.";
  diff.options = {file};
  CommandSpec get = spec_of("get", "Show what was declared", "KIND [NAME]");
  get.operands_min = 1;
  get.operands_max = 2;
  std::vector<std::string> words{"all"};
  for (const std::string& kind : kinds()) words.push_back(lower(kind));
  get.description =
      "KIND is one of " + listed(words, 15) + ".\nWhat -o yaml prints can be applied again.";
  get.options = {labels_option(), output_option()};
  CommandSpec del = spec_of("delete", "Delete what was declared", "KIND NAME");
  del.operands_min = 1;
  del.operands_max = 2;
  return {{apply, guarded("apply", run_apply)},
          {diff, guarded("diff", run_diff)},
          {get, guarded("get", run_get)},
          {del, guarded("delete", run_delete)}};
}

}  // namespace dove::cli
