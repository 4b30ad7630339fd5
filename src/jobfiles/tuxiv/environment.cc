#include "jobfiles/tuxiv/environment.h"

#include <fmt/core.h>

#include <algorithm>

#include "jobfiles/tuxiv/conda_names.h"
#include "jobfiles/tuxiv/environment_shell.h"
#include "jobfiles/tuxiv/md5.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

namespace {

constexpr std::string_view kWord =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

// "pytorch::torchvision>=0.10=py36" taken apart.
struct Dependency {
  std::string name;      // lower case
  std::string relation;  // "", "==", "=", or a version condition with its operators
  std::string version;   // behind "==" or "="
};

Result<Dependency> read_dependency(const TuxivItem& item) {
  Error bad =
      at_place(invalid(fmt::format("\"{}\" is not a dependency: write NAME, NAME=VERSION or "
                                   "NAME>=VERSION",
                                   shown(item.text))),
               item.place);
  std::string_view rest = trimmed(item.text);
  if (std::size_t channel = rest.find("::"); channel != std::string_view::npos) {
    rest = rest.substr(channel + 2);
  }
  std::size_t end = rest.find_first_not_of(kWord);
  Dependency dependency;
  dependency.name = lower(rest.substr(0, end));
  if (dependency.name.empty() || dependency.name.size() > 128 || dependency.name[0] == '-' ||
      dependency.name[0] == '.') {
    return bad;
  }
  rest = end == std::string_view::npos ? std::string_view() : trimmed(rest.substr(end));
  if (rest.empty()) return dependency;
  if (rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "_.-+=<>!~,*| ") != std::string_view::npos ||
      rest.size() > 128) {
    return bad;
  }
  if (rest[0] == '=' || (rest[0] >= '0' && rest[0] <= '9')) {
    bool fuzzy = rest[0] == '=' && !rest.starts_with("==");
    dependency.relation = fuzzy ? "=" : "==";
    while (rest.starts_with('=')) rest.remove_prefix(1);
    rest = trimmed(rest);
    // What follows a second '=' or a blank is the build, which only conda knows.
    dependency.version = rest.substr(0, rest.find_first_of("= "));
    if (dependency.version.empty()) return bad;
    return dependency;
  }
  dependency.relation = rest;
  return dependency;
}

// pip's form, for a name that both know. Conda's NAME=1.9 means any 1.9.x.
std::string requirement(const Dependency& dependency, std::string_view name) {
  if (dependency.version.empty()) return std::string(name) + dependency.relation;
  bool open = dependency.version.ends_with('*');
  bool fuzzy = dependency.relation == "=" && !open;
  return fmt::format("{}=={}{}", name, dependency.version, fuzzy ? ".*" : "");
}

// What the shell text below does, it does with these set.
struct Needs {
  std::string python;  // "" for any, else "3.6" (major and minor)
  std::string python_as_written;
  std::vector<std::string> requirements;
};

Result<void> add_dependency(const TuxivItem& item, Needs& needs, Draft& draft) {
  TRY_ASSIGN(Dependency dependency, read_dependency(item));
  if (dependency.name == "pip") return {};
  if (dependency.name == "python") {
    if (dependency.version.empty()) {
      if (!dependency.relation.empty()) {
        draft.warn(
            item.place, "no_effect",
            fmt::format("\"{}\" has an effect with conda only: without it the node's python3 "
                        "is taken; write python=3.11 to insist",
                        shown(item.text)));
      }
      return {};
    }
    std::vector<std::string_view> pieces = split(dependency.version, '.');
    bool minor = pieces.size() > 1 && to_number(pieces[1]);
    if (!to_number(pieces[0])) {
      return at_place(invalid("write python=MAJOR.MINOR, such as python=3.11"), item.place);
    }
    needs.python = minor ? fmt::format("{}.{}", pieces[0], pieces[1]) : std::string(pieces[0]);
    needs.python_as_written = item.text;
    draft.warn(
        item.place, "needs_python",
        fmt::format("a node must have python {}, conda, micromamba or uv: else the job fails "
                    "and says so",
                    needs.python));
    return {};
  }
  const std::string_view package = python_package(dependency.name);
  if (!package.empty()) {
    needs.requirements.push_back(requirement(dependency, package));
  } else if (only_of_conda(dependency.name)) {
    draft.warn(item.place, "no_effect",
               fmt::format("{} has an effect with conda only: without it the node must have it",
                           dependency.name));
  } else {
    draft.warn(item.place, "no_effect",
               fmt::format("{0} has an effect with conda only: no Python package is known to be "
                           "conda's {0}, so pip is not asked for it; if it is one, name it as an "
                           "item of `- pip:`",
                           dependency.name));
  }
  return {};
}

// The conda list with its pip section, which tcloud would drop.
std::string conda_list(const TuxivFile& file, const std::string& name) {
  std::string text = fmt::format("name: {}\nchannels:\n", name);
  for (const TuxivItem& item : file.channels) text += fmt::format("  - {}\n", item.text);
  text += "dependencies:\n";
  std::vector<std::string> dependencies;
  for (const TuxivItem& item : file.dependencies) dependencies.push_back(item.text);
  std::sort(dependencies.begin(), dependencies.end());  // the same list in any order is the same
  for (const std::string& item : dependencies) text += fmt::format("  - {}\n", item);
  if (!file.pip.empty()) text += "  - pip\n  - pip:\n";
  for (const TuxivItem& item : file.pip) text += fmt::format("      - {}\n", item.text);
  return text;
}

}  // namespace

std::string environment_name(const TuxivFile& file) {
  if (!file.environment_name.empty()) return file.environment_name;
  std::vector<std::string> names;
  for (const TuxivItem& item : file.dependencies) {
    if (item.upstream) names.push_back(item.text);
  }
  std::sort(names.begin(), names.end());
  std::string joined;
  for (std::size_t i = 0; i < names.size(); ++i) joined += (i > 0 ? " " : "") + names[i];
  return md5_hex(joined);
}

Result<std::string> environment_script(const TuxivFile& file, const std::string& home,
                                       Draft& draft) {
  bool lists = !file.dependencies.empty() || !file.pip.empty();
  if (!lists && file.environment_name.empty()) return std::string();
  std::string name = environment_name(file);
  // What tcloud would drop must not share a name with what it would see.
  if (file.environment_name.empty() && !file.pip.empty()) name = md5_hex(conda_list(file, ""));
  if (name.size() > 128 || name.find_first_not_of(kWord) != std::string::npos || name[0] == '.' ||
      name[0] == '-') {
    return at_place(invalid(fmt::format("environment.name \"{}\" is not a name: write letters, "
                                        "digits, '_', '.' and '-', at most 128",
                                        shown(name))),
                    file.environment_place);
  }
  Needs needs;
  for (const TuxivItem& item : file.dependencies) TRY(add_dependency(item, needs, draft));
  std::string requirements;
  for (const std::string& item : needs.requirements) requirements += item + "\n";
  for (const TuxivItem& item : file.pip) requirements += item.text + "\n";
  std::string conda = conda_list(file, name);
  return fmt::format(
      "# The environment \"{}\": conda's where ~/.Miniconda3 is, else a venv of the same list.\n"
      "env_name={}\nenv_home={}\nenv_key={}\nenv_lists={}\nenv_python={}\nenv_requirements={}\n"
      "env_conda={}{}",
      name, shell_quoted(name), home.empty() ? "\"$HOME\"" : shell_quoted(home), md5_hex(conda),
      lists ? 1 : 0, shell_quoted(needs.python), shell_quoted(requirements), shell_quoted(conda),
      kEnvironmentShell);
}

}  // namespace dove::jobfiles
