#include "containers/cdi.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace dove::containers {
namespace {

namespace fs = std::filesystem;

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::vector<fs::path> spec_files(const std::string& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string kind = entry.path().extension().string();
    if (kind == ".json" || kind == ".yaml" || kind == ".yml") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string names_of(const std::vector<Error>& errors) {
  std::string text;
  for (const Error& error : errors) text += "; " + error.message;
  return text;
}

}  // namespace

void CdiEdits::add(const CdiEdits& more) {
  append(environment, more.environment);
  append(devices, more.devices);
  append(mounts, more.mounts);
  append(hooks, more.hooks);
  append(groups, more.groups);
}

CdiRegistry CdiRegistry::read(const std::vector<std::string>& directories) {
  CdiRegistry registry;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    for (const fs::path& path : spec_files(directories[i])) {
      std::ifstream file(path);
      std::stringstream text;
      text << file.rdbuf();
      Result<CdiSpec> spec = parse_cdi_spec(text.str(), path.string());
      if (!spec.ok()) {
        registry.errors_.push_back(spec.error());
        continue;
      }
      const std::size_t index = registry.files_.size();
      for (const auto& [name, edits] : spec->devices) {
        const auto [at, is_new] =
            registry.devices_.try_emplace(spec->kind + "=" + name, Known{index, i, ""});
        if (is_new) continue;
        Known& known = at->second;
        known = {index, i, known.directory == i ? registry.files_[known.file].path : ""};
      }
      registry.files_.push_back({path.string(), std::move(spec).value()});
    }
  }
  return registry;
}

bool CdiRegistry::has_kind(const std::string& kind) const {
  return std::any_of(files_.begin(), files_.end(),
                     [&](const File& file) { return file.spec.kind == kind; });
}

std::string CdiRegistry::find(const std::string& kind, const std::string& name,
                              const std::string& path) const {
  if (!name.empty() && devices_.count(kind + "=" + name) != 0) return kind + "=" + name;
  if (path.empty()) return "";
  std::string best;
  std::size_t fewest = 0;
  for (const auto& [full, known] : devices_) {
    if (!full.starts_with(kind + "=")) continue;
    const auto& nodes = files_[known.file].spec.devices.at(full.substr(kind.size() + 1)).devices;
    if (std::find(nodes.begin(), nodes.end(), path) == nodes.end()) continue;
    if (!best.empty() && nodes.size() >= fewest) continue;
    best = full;
    fewest = nodes.size();
  }
  return best;
}

Result<CdiEdits> CdiRegistry::edits(const std::vector<std::string>& names) const {
  CdiEdits edits;
  std::set<std::size_t> begun;
  for (const std::string& name : names) {
    const auto found = devices_.find(name);
    if (found == devices_.end()) {
      return Error{ErrorKind::kNotFound, "cdi_device",
                   fmt::format("there is no CDI device {} in the files of this node (`nvidia-ctk "
                               "cdi generate` writes them){}",
                               name, names_of(errors_)),
                   name};
    }
    const File& file = files_[found->second.file];
    if (!found->second.conflict.empty()) {
      return Error{ErrorKind::kInvalid, "cdi_conflict",
                   fmt::format("{} and {} both describe the CDI device {}; remove one of them",
                               found->second.conflict, file.path, name),
                   name};
    }
    if (begun.insert(found->second.file).second) edits.add(file.spec.all);
    edits.add(file.spec.devices.at(name.substr(name.find('=') + 1)));
  }
  return edits;
}

}  // namespace dove::containers
