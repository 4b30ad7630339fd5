#include "cli/tcloud/paths.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "cli/client/endpoint.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/yaml_text.h"

namespace dove::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string config_path() { return config_directory() + "/tcloud.yaml"; }

std::size_t indent_of(const std::string& line) {
  const std::size_t at = line.find_first_not_of(' ');
  return at == std::string::npos ? line.size() : at;
}

// "- numpy=1.2  # why" is numpy; "" for a line that is no item.
std::string item_name(const std::string& line) {
  const std::size_t dash = line.find_first_not_of(' ');
  if (dash == std::string::npos || line[dash] != '-' || dash + 1 >= line.size()) return "";
  const std::size_t begin = line.find_first_not_of(" '\"", dash + 1);
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find_first_of("=<>! '\"#:", begin) - begin);
}

bool is_blank(const std::string& line) {
  const std::size_t at = line.find_first_not_of(" \t\r");
  return at == std::string::npos || line[at] == '#';
}

}  // namespace

TcloudConfig read_tcloud_config() {
  TcloudConfig config;
  const Result<std::string> text = read_line_file(config_path());
  if (!text.ok()) return config;
  const Result<std::vector<json>> read = read_yaml(config_path(), *text);
  if (!read.ok() || read->empty()) return config;
  config.username = text_of(read->front(), "username");
  config.userdir = text_of(read->front(), "userdir");
  return config;
}

Result<void> write_tcloud_config(const TcloudConfig& config) {
  std::error_code error;
  fs::create_directories(config_directory(), error);
  std::ofstream file(config_path(), std::ios::trunc);
  file << yaml_text(json{{"username", config.username}, {"userdir", config.userdir}});
  file.close();
  if (file) return {};
  return Error{ErrorKind::kInvalid, "cannot_write",
               fmt::format("{}: cannot be written", config_path()), ""};
}

std::string tcloud_userdir() {
  const std::string set = environment_value("TACC_USERDIR");
  if (!set.empty()) return set;
  const TcloudConfig config = read_tcloud_config();
  return config.userdir.empty() ? local_home() + "/USERDIR" : config.userdir;
}

Result<std::string> below_userdir(const std::string& path) {
  const std::string relative = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  std::error_code error;
  const fs::path root = fs::weakly_canonical(tcloud_userdir(), error);
  const fs::path full = fs::weakly_canonical(root / relative, error);
  const fs::path inside = full.lexically_relative(root);
  if (error || inside.empty() || *inside.begin() == "..") {
    return Error{ErrorKind::kDenied, "outside_userdir",
                 fmt::format("{}: is not below USERDIR ({})", path, root.string()), ""};
  }
  return full.string();
}

Result<std::string> with_dependency(const std::string& text, const std::string& dependency) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::size_t at = 0;
  while (at < lines.size() && !lines[at].starts_with("environment:")) ++at;
  std::size_t list = at + 1;
  while (list < lines.size() && (is_blank(lines[list]) || indent_of(lines[list]) > 0) &&
         lines[list].find("dependencies:") != indent_of(lines[list])) {
    ++list;
  }
  if (list >= lines.size() || lines[list].find("dependencies:") != indent_of(lines[list])) {
    return usage_error(
        "tuxiv.conf has no environment with dependencies: add `environment:` with `dependencies:` "
        "and a list");
  }
  const std::string name = item_name("- " + dependency);
  std::string margin(indent_of(lines[list]) + 2, ' ');
  std::size_t end = list + 1;
  std::size_t insert = end;
  while (end < lines.size() && (is_blank(lines[end]) || !item_name(lines[end]).empty())) {
    if (is_blank(lines[end])) {
      ++end;
      continue;
    }
    margin = std::string(indent_of(lines[end]), ' ');
    if (item_name(lines[end]) == name) {
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(end));
      insert = end;
      continue;
    }
    insert = ++end;
  }
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(insert), margin + "- " + dependency);
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace dove::cli
