#include "agent/secrets/task_secrets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "agent/aside/linux_user.h"
#include "agent/attempts/attempt_record.h"
#include "agent/containers/container_plan.h"
#include "files/descriptor.h"
#include "files/text_file.h"
#include "protocol/session.h"
#include "wire/secret.h"
#include "wire/tls/sealed_box.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr long kTmpfs = 0x01021994;
constexpr long kRamfs = 0x858458f6;
constexpr std::size_t kNameBytesMax = 64;
constexpr char kSharedMemory[] = "/dev/shm";

Error cannot_write(const std::string& path, int reason) {
  const char* remedy = reason == ENOSPC ? "; the node's memory for files (tmpfs) is full" : "";
  return {ErrorKind::kInternal, "cannot_write",
          fmt::format("{}: {}{}", path, std::strerror(reason), remedy), ""};
}

Error not_ours(const std::string& path) {
  return {ErrorKind::kInternal, "secrets_place",
          fmt::format("{} is not a folder of the agent's own: remove it", path), ""};
}

bool is_in_memory(const std::string& path) {
  struct statfs facts {};
  if (::statfs(path.c_str(), &facts) != 0) return false;
  const auto type = static_cast<unsigned long>(facts.f_type) & 0xffffffffUL;
  return type == kTmpfs || type == static_cast<unsigned long>(kRamfs);
}

bool is_own_folder(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         facts.st_uid == ::geteuid();
}

// What is there already must be ours: the folder above is everybody's.
Result<void> make_place(const std::string& place) {
  const std::string memory = fs::path(place).parent_path().string();
  if (place.empty() || !is_in_memory(memory)) {
    return Error{
        ErrorKind::kInternal, "no_memory_files",
        fmt::format(
            "secrets are kept only in memory, and {} is not a tmpfs on this node: mount one there",
            memory.empty() ? "/dev/shm" : memory),
        ""};
  }
  if (::mkdir(place.c_str(), 0711) != 0 && errno != EEXIST) return cannot_write(place, errno);
  if (!is_own_folder(place)) return not_ours(place);
  if (::chmod(place.c_str(), 0711) != 0) return cannot_write(place, errno);
  return {};
}

Result<void> give(int fd, const std::string& path, const SecretsOwner& owner, mode_t mode) {
  const bool given = !owner.is_other || ::fchown(fd, owner.uid, owner.gid) == 0;
  if (!given || ::fchmod(fd, mode) != 0) return cannot_write(path, errno);
  return {};
}

Result<void> write_file(int folder, const std::string& name, const std::string& text,
                        const SecretsOwner& owner) {
  const files::Descriptor fd(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd.get() < 0) return cannot_write(name, errno);
  const ssize_t written = ::write(fd.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) {
    return cannot_write(name, written < 0 ? errno : ENOSPC);
  }
  return give(fd.get(), name, owner, 0400);
}

Result<void> write_all(const std::string& directory, const std::vector<TaskSecret>& secrets,
                       const SecretsOwner& owner, const std::string& variables) {
  if (::mkdir(directory.c_str(), 0711) != 0) return cannot_write(directory, errno);
  const files::Descriptor folder(::open(directory.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.get() < 0 || ::fchmod(folder.get(), 0711) != 0 ||
      ::mkdirat(folder.get(), "files", 0700) != 0) {
    return cannot_write(directory, errno);
  }
  const files::Descriptor within(
      ::openat(folder.get(), "files", O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (within.get() < 0) return cannot_write(directory, errno);
  for (const TaskSecret& secret : secrets) {
    if (!secret.file.empty()) TRY(write_file(within.get(), secret.file, secret.value, owner));
  }
  TRY(give(within.get(), secret_files(directory), owner, 0700));
  // Last: has_secrets() looks for it.
  return write_file(folder.get(), "variables", variables, owner);
}

bool is_file_name(const std::string& name) {
  return name != "." && name != ".." && name.find('/') == std::string::npos;
}

}  // namespace

Result<std::vector<TaskSecret>> read_secrets(const Json& answer) {
  TRY_ASSIGN(protocol::GivenSecrets given, protocol::read_given_secrets(answer));
  std::vector<TaskSecret> secrets;
  for (protocol::GivenSecret& one : given.secrets) {
    TaskSecret secret{std::move(one.variable), std::move(one.file), ""};
    TRY_ASSIGN(secret.value, wire::from_base64(one.value));
    wire::wipe(one.value);
    if (!is_file_name(secret.file) || secret.variable.find('=') != std::string::npos) {
      return Error{ErrorKind::kInvalid, "malformed_answer",
                   "a secret that the controller gives leads elsewhere", secret.file};
    }
    secrets.push_back(std::move(secret));
  }
  return secrets;
}

std::string secrets_memory() {
  const bool has_run = ::geteuid() == 0 && is_in_memory("/run") && ::access("/run", W_OK) == 0;
  return has_run ? "/run" : kSharedMemory;
}

std::string secrets_place(const std::string& data_dir, const std::string& memory) {
  const std::string kept = data_dir + "/secrets_place";
  std::string name = files::text_or_empty(kept, kNameBytesMax);
  if (name.empty() || !is_file_name(name)) {
    name = wire::random_token(12);
    if (!files::write_atomically(kept, name, 0600).ok()) return "";
  }
  const auto beneath = [&](const std::string& folder) {
    return fmt::format("{}/dove-secrets-{}", folder, name);
  };
  const std::string former = beneath(kSharedMemory);
  return is_own_folder(former) ? former : beneath(memory);
}

std::string secrets_directory(const std::string& place, AttemptKey key) {
  return place + "/" + key.text();
}
std::string secret_files(const std::string& directory) { return directory + "/files"; }
std::string secret_variables(const std::string& directory) { return directory + "/variables"; }

Result<SecretsOwner> secrets_owner(const LaunchOrder& order, const std::string& linux_user) {
  SecretsOwner owner;
  const ContainerSpec& container = order.exec.container;
  if (!container.image.empty()) {
    TRY_ASSIGN(const ContainerIdentity identity, container_identity(linux_user, container.root));
    owner.is_other = ::geteuid() == 0;
    owner.uid = containers::outside_of(identity.uids, identity.uid);
    owner.gid = containers::outside_of(identity.gids, identity.gid);
    return owner;
  }
  if (linux_user.empty()) return owner;
  const auto user = known_linux_user(linux_user);
  if (!user) {
    return Error{ErrorKind::kInvalid, "no_linux_user",
                 fmt::format("Linux user '{}' does not exist on this node", linux_user), ""};
  }
  return SecretsOwner{user->uid != ::geteuid(), user->uid, user->gid};
}

Result<void> write_secrets(const std::string& directory, std::vector<TaskSecret>& secrets,
                           const SecretsOwner& owner) {
  TRY(make_place(fs::path(directory).parent_path().string()));
  remove_secrets(directory);
  TRY(make_place(fs::path(directory).parent_path().string()));
  std::string variables;
  for (const TaskSecret& secret : secrets) {
    if (secret.variable.empty()) continue;
    variables.append(secret.variable).append(1, '=').append(secret.value).append(1, '\0');
  }
  Result<void> written = write_all(directory, secrets, owner, variables);
  wire::wipe(variables);
  for (TaskSecret& secret : secrets) wire::wipe(secret.value);
  if (!written.ok()) remove_secrets(directory);
  return written;
}

bool has_secrets(const std::string& directory) {
  return ::access(secret_variables(directory).c_str(), F_OK) == 0;
}

// Its own folder goes with the last one. Links are not followed (remove_all of libstdc++ 12).
void remove_secrets(const std::string& directory) {
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  ::rmdir(fs::path(directory).parent_path().c_str());
}

void sweep_secrets(const std::string& place, const std::function<bool(AttemptKey)>& is_held) {
  std::error_code error;
  std::vector<std::string> over;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    const auto key = read_key(entry.path().filename().string());
    if (!key || !is_held(*key)) over.push_back(entry.path().string());
  }
  for (const std::string& path : over) remove_secrets(path);
}

}  // namespace dove::agent
