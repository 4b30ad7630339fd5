#include "containers/runtime.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "codec/json.h"

namespace dove::containers {
namespace {

constexpr const char* kDirectories[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                        "/usr/bin",        "/sbin",          "/bin"};
constexpr std::size_t kLineBytesMax = 65'536;

std::string path_of(const std::string& program) {
  if (program.starts_with('/')) return ::access(program.c_str(), X_OK) == 0 ? program : "";
  for (const char* directory : kDirectories) {
    std::string path = fmt::format("{}/{}", directory, program);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

}  // namespace

Result<Runtime> find_runtime(const std::string& wanted, bool only_v2, const std::string& state) {
  std::vector<std::string> programs;
  if (wanted != "auto") {
    programs = {wanted};
  } else if (only_v2) {
    programs = {"crun", "runc"};
  } else {
    programs = {"runc"};
  }
  for (const std::string& program : programs) {
    if (const std::string path = path_of(program); !path.empty()) return Runtime{path, state};
  }
  return Error{ErrorKind::kNotFound, "no_container_runtime",
               fmt::format("this node runs no containers: there is no {}; install it (on Debian: "
                           "apt install {}), or name one with --container-runtime",
                           fmt::join(programs, " or "), programs[0]),
               "image"};
}

namespace {

// What `run` and `exec` have in common: they leave the process to us, with this many descriptors.
std::vector<std::string> detached(const Runtime& runtime, const char* verb, std::size_t descriptors,
                                  const std::string& pid_file, const std::string& log) {
  return {runtime.program,
          "--root",
          runtime.state,
          "--log",
          log,
          "--log-format",
          "json",
          verb,
          "--detach",
          "--preserve-fds",
          std::to_string(descriptors),
          "--pid-file",
          pid_file};
}

}  // namespace

std::vector<std::string> run_command(const Runtime& runtime, const std::string& id,
                                     const std::string& bundle, const std::string& pid_file,
                                     const std::string& log, std::size_t descriptors) {
  std::vector<std::string> command = detached(runtime, "run", descriptors, pid_file, log);
  command.insert(command.end(), {"--bundle", bundle, id});
  return command;
}

std::vector<std::string> exec_command(const Runtime& runtime, const std::string& id,
                                      const std::string& process, const std::string& pid_file,
                                      const std::string& log) {
  std::vector<std::string> command = detached(runtime, "exec", 1, pid_file, log);
  command.insert(command.end(), {"--process", process, id});
  return command;
}

std::vector<std::string> delete_command(const Runtime& runtime, const std::string& id) {
  return {runtime.program, "--root", runtime.state, "delete", "--force", id};
}

std::string last_complaint(const std::string& log) {
  std::ifstream file(log);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    const auto parsed = codec::parse_json(line, kLineBytesMax);
    if (!parsed.ok() || !parsed->is_object()) continue;
    const auto level = parsed->value("level", nlohmann::json());
    const auto text = parsed->value("msg", nlohmann::json());
    if (level == "error" && text.is_string()) last = text.get<std::string>();
  }
  return last;
}

}  // namespace dove::containers
