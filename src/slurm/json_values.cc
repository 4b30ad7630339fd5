#include "slurm/json_values.h"

#include <algorithm>
#include <cctype>

namespace dove::slurm {

using nlohmann::json;

std::string text_of(const json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::optional<std::int64_t> number_of(const json& object, const char* name) {
  const auto at = object.find(name);
  if (at == object.end()) return std::nullopt;
  const json* value = &*at;
  if (value->is_object()) {
    const auto is_true = [&](const char* word) {
      const auto said = value->find(word);
      return said != value->end() && said->is_boolean() && said->get<bool>();
    };
    if (!is_true("set") || is_true("infinite")) return std::nullopt;
    const auto inner = value->find("number");
    if (inner == value->end()) return std::nullopt;
    value = &*inner;
  }
  if (!value->is_number_integer()) return std::nullopt;
  const std::int64_t number = value->get<std::int64_t>();
  return number < 0 ? std::nullopt : std::optional(number);
}

bool is_set(const json& object, const char* name) {
  const auto at = object.find(name);
  if (at == object.end()) return false;
  return at->is_boolean() ? at->get<bool>() : number_of(object, name).value_or(0) != 0;
}

std::string handle_of(const json& job) {
  const std::int64_t array = number_of(job, "array_job_id").value_or(0);
  const auto task = number_of(job, "array_task_id");
  if (array != 0 && task) return std::to_string(array) + "_" + std::to_string(*task);
  return std::to_string(number_of(job, "job_id").value_or(0));
}

int wait_status_of(const json& object, const char* name) {
  const auto at = object.find(name);
  const bool is_told_apart = at != object.end() && at->is_object() && at->contains("return_code");
  if (!is_told_apart) return static_cast<int>(number_of(object, name).value_or(0) & 0xffff);
  const auto signal = at->find("signal");
  const bool has_signal = signal != at->end() && signal->is_object();
  const std::int64_t ended_by = has_signal ? number_of(*signal, "id").value_or(0) : 0;
  const std::int64_t code = number_of(*at, "return_code").value_or(0);
  return static_cast<int>((ended_by & 0x7f) | (code & 0xff) << 8);
}

std::vector<std::string> words_of(const json& object, const char* name) {
  std::vector<std::string> words;
  const auto at = object.find(name);
  if (at == object.end()) return words;
  if (at->is_string()) words.push_back(at->get<std::string>());
  if (at->is_array()) {
    for (const json& word : *at) {
      if (word.is_string()) words.push_back(word.get<std::string>());
    }
  }
  for (std::string& word : words) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  return words;
}

bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace dove::slurm
