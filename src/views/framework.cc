#include "views/framework.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace dove::views {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kScriptBytesMax = 64 << 10;
constexpr std::string_view kPyTorch = "pytorch";
constexpr std::string_view kTensorFlow = "tensorflow";
constexpr std::string_view kMpi = "mpi";

struct Mark {
  std::string_view text;
  std::string_view framework;
};
constexpr Mark kLaunchers[] = {
    {"torchrun", kPyTorch},
    {"torch.distributed.run", kPyTorch},
    {"torch.distributed.launch", kPyTorch},
    {"deepspeed", kPyTorch},
    {"accelerate", kPyTorch},
    {"mpirun", kMpi},
    {"mpiexec", kMpi},
    {"orterun", kMpi},
    {"horovodrun", kMpi},
};
constexpr Mark kImages[] = {
    {"torch", kPyTorch}, {"tensorflow", kTensorFlow}, {"mpi", kMpi}, {"horovod", kMpi}};

constexpr std::string_view kEndsWord = " \t\r\n;&|()\"'`$={}";

std::string_view of_word(std::string_view word) {
  if (word == "TF_CONFIG") return kTensorFlow;
  const std::string_view name = word.substr(word.rfind('/') + 1);  // npos + 1 is 0
  const auto* found = std::ranges::find(kLaunchers, name, &Mark::text);
  return found == std::end(kLaunchers) ? "" : found->framework;
}

std::string_view of_line(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || line[begin] == '#') return "";
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(kEndsWord), line.size());
    if (const std::string_view found = of_word(line.substr(0, end)); !found.empty()) return found;
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return "";
}

std::string_view of_text(std::string_view text) {
  text = text.substr(0, kScriptBytesMax);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view found = of_line(text.substr(0, end)); !found.empty()) return found;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return "";
}

// "nvcr.io/nvidia/pytorch:24.05-py3": its last name, without tag and digest.
std::string_view of_image(std::string_view image) {
  image.remove_prefix(image.rfind('/') + 1);
  image = image.substr(0, image.find_first_of(":@"));
  for (const Mark& mark : kImages) {
    if (image.find(mark.text) != std::string_view::npos) return mark.framework;
  }
  return "";
}

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string_view text_at(const Json* value) {
  if (value == nullptr || !value->is_string()) return "";
  return value->get_ref<const std::string&>();
}

}  // namespace

std::string_view framework_of(const Json& exec) {
  if (const Json* command = member(exec, "command"); command != nullptr && command->is_array()) {
    for (const Json& word : *command) {
      if (const auto found = of_text(text_at(&word)); !found.empty()) return found;
    }
  }
  if (const auto found = of_text(text_at(member(exec, "script"))); !found.empty()) return found;
  const Json* environment = member(exec, "environment");
  if (environment != nullptr && environment->contains("TF_CONFIG")) return kTensorFlow;
  const Json* container = member(exec, "container");
  return container == nullptr ? "" : of_image(text_at(member(*container, "image")));
}

std::string_view framework_of_text(std::string_view exec) {
  constexpr std::string_view kSigns[] = {"torch",   "tensorflow", "mpi",       "TF_CONFIG",
                                         "horovod", "orterun",    "deepspeed", "accelerate"};
  const auto shows = [&](std::string_view sign) {
    return exec.find(sign) != std::string_view::npos;
  };
  if (!std::ranges::any_of(kSigns, shows)) return "";
  const Json parsed = Json::parse(exec, nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() ? "" : framework_of(parsed);
}

}  // namespace dove::views
