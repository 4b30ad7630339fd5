#include "agent/containers/kept_roots.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <vector>

#include "agent/containers/container_network.h"
#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kDropLimit{60};
constexpr const char kNote[] =
    ".image";  // beside it: its image, a line, and its attempt's directory
constexpr const char kMade[] = ".made";  // likewise, of dove-contain: it was mounted
constexpr std::size_t kNoteBytesMax = 8'192;

}  // namespace

KeptRoots::KeptRoots(wire::Loop& loop, std::string directory, std::string contain)
    : loop_(loop), directory_(std::move(directory)), contain_(std::move(contain)) {
  std::error_code error;
  fs::create_directories(directory_, error);
  fs::permissions(directory_, fs::perms::owner_all, error);
}

std::string KeptRoots::named(const std::string& attempt, const std::string& name) const {
  return fmt::format("{}/{}.name-{}", directory_, file_name(attempt), file_name(name));
}

std::string KeptRoots::path(const TaskPlan& plan) const {
  if (!plan.container.name.empty()) return named(plan.attempt, plan.container.name);
  if (plan.container.save.empty() || plan.rank != 0) return "";
  return fmt::format("{}/{}.save-{}", directory_, file_name(plan.attempt), file_name(plan.mark));
}

bool KeptRoots::was_made(const std::string& path) const {
  return ::access((path + kMade).c_str(), F_OK) == 0;
}

Result<void> KeptRoots::note(const TaskPlan& plan) {
  const std::string name = path(plan) + kNote;
  if (::access(name.c_str(), F_OK) == 0) return {};
  const std::string attempt = fs::path(plan.path).parent_path().string();
  return files::write_atomically(name, plan.container.image + "\n" + attempt + "\n", 0600);
}

Result<std::string> KeptRoots::image_of(const std::string& attempt,
                                        const ContainerSpec& container) const {
  const Result<std::string> text =
      files::read_text(named(attempt, container.name) + kNote, kNoteBytesMax);
  const bool is_there = text.ok() && text->find('\n') != std::string::npos;
  const auto refused = [&](const char* why) {
    return Error{ErrorKind::kInvalid, "container_name",
                 fmt::format("the container {} of this job is {}", container.name, why),
                 "container.name"};
  };
  if (is_there && container.naming == ContainerNaming::kCreate) {
    return refused("on this node already; leave out :create, or take another name");
  }
  if (is_there) return text->substr(0, text->find('\n'));
  if (container.naming == ContainerNaming::kExec || container.image.empty()) {
    return refused("not on this node: name its image in the step that makes it");
  }
  return container.image;
}

void KeptRoots::drop(const std::string& path) {
  if (drops_.contains(path)) return;
  ::unlink((path + kNote).c_str());
  drops_[path] = std::make_unique<containers::Child>(
      loop_, std::vector<std::string>{contain_, "drop", path}, kDropLimit,
      [this, path](const Result<void>& done) {
        if (!done.ok()) {
          telemetry::log(telemetry::Level::kWarning, "container_root_not_dropped",
                         {{"path", path}, {"why", done.error().message}});
        }
        const auto found = drops_.find(path);
        const std::unique_ptr<containers::Child> over = std::move(found->second);
        drops_.erase(found);
      });
}

void KeptRoots::drop_all(const std::string& attempt) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    std::string name = entry.path().string();
    const std::string file = entry.path().filename().string();
    if (!name.ends_with(kNote)) continue;
    name.resize(name.size() - (sizeof kNote - 1));
    if (file.starts_with(file_name(attempt) + ".name-") ||
        file.starts_with(file_name(attempt) + ".save-")) {
      found.push_back(name);
    }
  }
  for (const std::string& name : found) drop(name);
}

void KeptRoots::sweep() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    std::string name = entry.path().string();
    if (!name.ends_with(kNote)) continue;
    const Result<std::string> text = files::read_text(name, kNoteBytesMax);
    const std::string lines = text.ok() ? *text : "";
    const std::size_t first = lines.find('\n');
    const std::string attempt =
        first == std::string::npos ? "" : lines.substr(first + 1, lines.rfind('\n') - first - 1);
    name.resize(name.size() - (sizeof kNote - 1));
    if (attempt.empty() || !fs::exists(attempt, error)) found.push_back(name);
  }
  for (const std::string& name : found) drop(name);
}

}  // namespace dove::agent
