#include "jobfiles/tuxiv/tuxiv_file.h"

#include <fmt/core.h>

#include <set>

#include "jobfiles/words.h"
#include "text/spelling.h"

namespace dove::jobfiles {

namespace {

Error wrong_type(const Place& place, std::string message) {
  return at_place(invalid(std::move(message), "wrong_type"), place);
}

// Reads the fields of a map one by one. Unknown and repeated keys are warned about.
class Fields {
 public:
  Fields(Draft& draft, std::string path, std::vector<std::string_view> known)
      : draft_(draft), path_(std::move(path)), known_(std::move(known)) {}

  // True if `key` may be read now.
  bool accept(const yaml::Value& key) {
    const std::string& name = key.text;
    for (std::string_view word : known_) {
      if (word != name) continue;
      if (!seen_.insert(name).second) {
        draft_.warn(key.place, "repeated_key",
                    fmt::format("{} is given twice: the later one counts", path_ + name));
      }
      return true;
    }
    if (draft_.full()) return false;
    std::string hint = "it has no effect";
    if (const auto meant = text::nearest(name, known_); !meant.empty()) {
      hint = fmt::format("it has no effect; did you mean {}{}?", path_, meant);
    }
    draft_.warn(key.place, "unknown_key",
                fmt::format("unknown key {}: {}", shown(path_ + name), hint));
    return false;
  }

 private:
  Draft& draft_;
  std::string path_;
  std::vector<std::string_view> known_;
  std::set<std::string> seen_;
};

class Reader {
 public:
  Reader(TuxivFile& file, Draft& draft) : file_(file), draft_(draft) {}

  Result<void> read(const yaml::Value& root);

 private:
  Result<void> read_environment(const yaml::Value& map);
  Result<void> read_job(const yaml::Value& map);
  Result<void> read_dependencies(const yaml::Value& value);
  Result<void> read_datasets(const yaml::Value& value);
  // A list of words. With `pairs` it may also be a map: K: V becomes "K=V".
  Result<void> read_words(const yaml::Value& value, const std::string& path, bool pairs,
                          std::vector<TuxivItem>& items);
  Result<void> read_pairs(const yaml::Value& map, const std::string& path,
                          std::vector<TuxivItem>& items);
  Result<void> read_text(const yaml::Value& value, const std::string& path, std::string& text);

  TuxivFile& file_;
  Draft& draft_;
};

Result<void> Reader::read_text(const yaml::Value& value, const std::string& path,
                               std::string& text) {
  if (value.kind == yaml::Value::Kind::kList || value.kind == yaml::Value::Kind::kMap) {
    return wrong_type(value.place, fmt::format("{} must be a word, not a list or a map", path));
  }
  text = value.text;
  return {};
}

Result<void> Reader::read_pairs(const yaml::Value& map, const std::string& path,
                                std::vector<TuxivItem>& items) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const yaml::Value& value = *map.values[i];
    if (value.kind == yaml::Value::Kind::kList || value.kind == yaml::Value::Kind::kMap) {
      return wrong_type(value.place, fmt::format("{}: write KEY=VALUE", path));
    }
    std::string text = map.keys[i]->text;
    if (value.kind == yaml::Value::Kind::kScalar) text += "=" + value.text;
    draft_.warn(map.keys[i]->place, "read_as",
                fmt::format("{}: read as \"{}\", which tcloud would ignore: write - {}", path,
                            shown(text), shown(text)));
    items.push_back(TuxivItem{std::move(text), map.keys[i]->place, false});
  }
  return {};
}

Result<void> Reader::read_words(const yaml::Value& value, const std::string& path, bool pairs,
                                std::vector<TuxivItem>& items) {
  items.clear();
  if (value.kind == yaml::Value::Kind::kNull) return {};
  if (value.kind == yaml::Value::Kind::kScalar) {
    draft_.warn(value.place, "read_as",
                fmt::format("{} is read as a list of one, which tcloud would ignore: write - {}",
                            path, shown(value.text)));
    items.push_back(TuxivItem{value.text, value.place, false});
    return {};
  }
  if (value.kind == yaml::Value::Kind::kMap) {
    if (pairs) return read_pairs(value, path, items);
    return wrong_type(value.place,
                      fmt::format("{} must be a list: write each item as - ITEM", path));
  }
  for (const yaml::ValueRef& item : value.values) {
    if (item->kind == yaml::Value::Kind::kMap && pairs) {
      TRY(read_pairs(*item, path, items));
    } else if (item->kind == yaml::Value::Kind::kMap) {
      return wrong_type(item->place,
                        fmt::format("this item of {} is a map, because it has \": \" in it, and "
                                    "tcloud would drop it: put the whole item into quotes",
                                    path));
    } else if (item->kind == yaml::Value::Kind::kList) {
      return wrong_type(item->place, fmt::format("an item of {} must be a word, not a list", path));
    } else {
      items.push_back(TuxivItem{item->text, item->place, true});
    }
  }
  return {};
}

Result<void> Reader::read_dependencies(const yaml::Value& value) {
  file_.dependencies.clear();
  file_.pip.clear();
  if (value.kind != yaml::Value::Kind::kList) {
    return read_words(value, "environment.dependencies", false, file_.dependencies);
  }
  for (const yaml::ValueRef& item : value.values) {
    if (item->kind != yaml::Value::Kind::kMap) {
      if (item->kind == yaml::Value::Kind::kList) {
        return wrong_type(item->place, "a dependency must be a word such as numpy=1.24");
      }
      file_.dependencies.push_back(TuxivItem{item->text, item->place, true});
      continue;
    }
    if (item->keys.size() != 1 || item->keys[0]->text != "pip") {
      return wrong_type(item->place, "of maps only - pip: with a list may be a dependency");
    }
    draft_.warn(item->place, "honoured", "the pip list is honoured; tcloud would ignore it");
    std::vector<TuxivItem> names;
    TRY(read_words(*item->values[0], "environment.dependencies pip", false, names));
    for (TuxivItem& name : names) {
      name.upstream = false;
      file_.pip.push_back(std::move(name));
    }
  }
  return {};
}

Result<void> Reader::read_environment(const yaml::Value& map) {
  if (map.kind == yaml::Value::Kind::kNull) return {};
  if (map.kind != yaml::Value::Kind::kMap) {
    return wrong_type(map.place, "environment must be a map with name, channels, dependencies");
  }
  Fields fields(draft_, "environment.", {"name", "channels", "dependencies"});
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (!fields.accept(*map.keys[i])) continue;
    const std::string& key = map.keys[i]->text;
    const yaml::Value& value = *map.values[i];
    if (key == "name") {
      file_.environment_place = value.place;
      TRY(read_text(value, "environment.name", file_.environment_name));
    } else if (key == "channels") {
      TRY(read_words(value, "environment.channels", false, file_.channels));
    } else {
      if (file_.environment_place.line == 0) file_.environment_place = value.place;
      TRY(read_dependencies(value));
    }
  }
  return {};
}

Result<void> Reader::read_job(const yaml::Value& map) {
  if (map.kind == yaml::Value::Kind::kNull) return {};
  if (map.kind != yaml::Value::Kind::kMap) {
    return wrong_type(map.place, "job must be a map with name, general, module, env, log");
  }
  Fields fields(draft_, "job.", {"name", "general", "module", "env", "log"});
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (!fields.accept(*map.keys[i])) continue;
    const std::string& key = map.keys[i]->text;
    const yaml::Value& value = *map.values[i];
    if (key == "name") {
      file_.job_name_place = value.place;
      TRY(read_text(value, "job.name", file_.job_name));
    } else if (key == "general") {
      TRY(read_words(value, "job.general", true, file_.general));
    } else if (key == "module") {
      TRY(read_words(value, "job.module", false, file_.modules));
    } else if (key == "env") {
      TRY(read_words(value, "job.env", true, file_.env));
    } else {
      draft_.warn(map.keys[i]->place, "no_effect",
                  "job.log has no effect, with tcloud neither: write - output=FILE in job.general");
    }
  }
  return {};
}

Result<void> Reader::read_datasets(const yaml::Value& value) {
  file_.datasets.clear();
  std::vector<yaml::ValueRef> items = value.values;
  if (value.kind == yaml::Value::Kind::kNull) return {};
  if (value.kind != yaml::Value::Kind::kList) {
    draft_.warn(value.place, "no_effect", "datasets has no effect: it must be a list of names");
    return {};
  }
  for (const yaml::ValueRef& item : items) {
    if (item->kind == yaml::Value::Kind::kMap || item->kind == yaml::Value::Kind::kList) {
      draft_.warn(item->place, "no_effect",
                  "this dataset has no effect, with tcloud neither: only names of datasets are "
                  "known");
    } else {
      file_.datasets.push_back(TuxivItem{item->text, item->place, true});
    }
  }
  return {};
}

Result<void> Reader::read(const yaml::Value& root) {
  if (root.kind == yaml::Value::Kind::kNull) return {};
  if (root.kind != yaml::Value::Kind::kMap) {
    return wrong_type(root.place, "the file must be a map with entrypoint, environment and job");
  }
  Fields fields(draft_, "", {"entrypoint", "environment", "job", "datasets"});
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    if (!fields.accept(*root.keys[i])) continue;
    const std::string& key = root.keys[i]->text;
    const yaml::Value& value = *root.values[i];
    if (key == "entrypoint") {
      TRY(read_words(value, "entrypoint", false, file_.entrypoint));
    } else if (key == "environment") {
      TRY(read_environment(value));
    } else if (key == "job") {
      TRY(read_job(value));
    } else {
      TRY(read_datasets(value));
    }
  }
  return {};
}

}  // namespace

Result<TuxivFile> read_tuxiv(const yaml::ValueRef& root, Draft& draft) {
  TuxivFile file;
  Reader reader(file, draft);
  TRY(reader.read(*root));
  return file;
}

}  // namespace dove::jobfiles
