// The options of sbatch that a container takes, by the names that Slurm's plug-in pyxis gave them.
#include <fmt/format.h>

#include "jobfiles/option_setters.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {
namespace {

constexpr std::size_t kImageMax = 1024;

ContainerSpec& container(Draft& draft) { return draft.submission.exec.container; }

Result<Volume> volume_of(const std::string& text) {
  Volume volume;
  volume.writable = true;
  std::string rest = text;
  for (const char* mode : {":ro", ":rw"}) {
    if (!rest.ends_with(mode)) continue;
    volume.writable = mode[2] == 'w';
    rest.resize(rest.size() - 3);
    break;
  }
  const std::size_t colon = rest.find(':');
  volume.source = rest.substr(0, colon);
  if (colon != std::string::npos) volume.target = rest.substr(colon + 1);
  if (!volume.source.starts_with('/') || (colon != std::string::npos && volume.target[0] != '/')) {
    return invalid(
        fmt::format("\"{}\": write /SOURCE, /SOURCE:/TARGET or /SOURCE:/TARGET:ro", shown(text)));
  }
  return volume;
}

}  // namespace

Result<void> set_container_image(Draft& draft, const Option& option) {
  if (option.value.empty() || option.value.size() > kImageMax) {
    return invalid("give the name of an image");
  }
  container(draft).image = option.value;
  return {};
}

Result<void> set_container_mounts(Draft& draft, const Option& option) {
  container(draft).volumes.clear();
  for (std::size_t from = 0; from <= option.value.size();) {
    const std::size_t end = std::min(option.value.find(',', from), option.value.size());
    TRY_ASSIGN(Volume volume, volume_of(option.value.substr(from, end - from)));
    container(draft).volumes.push_back(std::move(volume));
    from = end + 1;
  }
  return {};
}

Result<void> set_container_readonly(Draft& draft, const Option&) {
  container(draft).read_only = true;
  return {};
}

Result<void> set_container_workdir(Draft& draft, const Option& option) {
  if (!option.value.starts_with('/')) return invalid("write an absolute path inside the container");
  container(draft).workdir = option.value;
  return {};
}

}  // namespace dove::jobfiles
