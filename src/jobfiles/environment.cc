#include "jobfiles/environment.h"

#include <fmt/core.h>

#include <algorithm>

#include "jobfiles/md5.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

namespace {

// Conda's names of what pip calls otherwise.
struct Renamed {
  std::string_view conda;
  std::string_view pip;
};
constexpr Renamed kRenamed[] = {
    {"dask-core", "dask"},
    {"matplotlib-base", "matplotlib"},
    {"msgpack-python", "msgpack"},
    {"mxnet-gpu", "mxnet"},
    {"opencv", "opencv-python"},
    {"py-opencv", "opencv-python"},
    {"py-xgboost", "xgboost"},
    {"pytables", "tables"},
    {"pytorch", "torch"},
    {"pytorch-cpu", "torch"},
    {"pytorch-gpu", "torch"},
    {"tensorflow-base", "tensorflow"},
    {"tensorflow-gpu", "tensorflow"},
};

// What conda brings and a venv takes from the system, or needs not.
constexpr std::string_view kNotOfPip[] = {
    "_libgcc_mutex", "_openmp_mutex", "blas",         "ca-certificates",
    "cpuonly",       "cuda",          "cuda-toolkit", "cudatoolkit",
    "cudnn",         "ffmpeg",        "gcc",          "git",
    "gxx",           "intel-openmp",  "libblas",      "libgcc-ng",
    "libstdcxx-ng",  "mkl",           "nccl",         "ninja-base",
    "nodejs",        "openblas",      "openmpi",      "openssl",
    "pytorch-cuda",  "pytorch-mutex", "sqlite",       "zlib",
};

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

// pip's form. Conda's NAME=1.9 means any 1.9.x.
std::string requirement(const Dependency& dependency) {
  std::string name = dependency.name;
  for (const Renamed& renamed : kRenamed) {
    if (renamed.conda == name) name = renamed.pip;
  }
  if (dependency.version.empty()) return name + dependency.relation;
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
    draft.warn(item.place, "needs_python",
               fmt::format("without conda in ~/.Miniconda3 the node itself must have python {}; "
                           "else the job fails and says so",
                           needs.python));
    return {};
  }
  if (std::find(std::begin(kNotOfPip), std::end(kNotOfPip), dependency.name) !=
      std::end(kNotOfPip)) {
    draft.warn(item.place, "no_effect",
               fmt::format("{} has an effect with conda only: without it the node must have it",
                           dependency.name));
    return {};
  }
  needs.requirements.push_back(requirement(dependency));
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

constexpr std::string_view kFunctions = R"SH(
env_root="$env_home/.dove/environments"
env_missing='
import sys
from importlib import metadata
for line in sys.stdin.read().split("\n"):
    name, _, version = line.partition("==")
    if not line:
        continue
    try:
        have = metadata.version(name)
    except Exception:
        have = None
    start = version[:-2] if version.endswith(".*") else None
    good = have is not None and (not version or have == version or
                                 (start is not None and (have + ".").startswith(start + ".")))
    if not good:
        print(line)
'
dove_fail() {
  echo "dove: environment $env_name: $*" >&2
  return 1
}
dove_lock() {
  mkdir -p "$env_root" || { dove_fail "cannot write $env_root"; return 1; }
  exec 9>"$env_root/.$env_name.lock" || return 1
  flock -w 1800 9 || dove_fail "another job has been making it for 30 minutes: end that job first"
}
dove_conda() {
  source "$env_home/.Miniconda3/etc/profile.d/conda.sh"
  local stamp="$env_root/$env_name.conda-key" list="$env_root/$env_name.conda.yaml" verb=create
  if [ "$env_lists" = 1 ] && [ "$(cat "$stamp" 2>/dev/null)" != "$env_key" ]; then
    dove_lock || return 1
    if [ "$(cat "$stamp" 2>/dev/null)" != "$env_key" ]; then
      printf '%s' "$env_conda" > "$list"
      conda env list | awk '{print $1}' | grep -qxF -- "$env_name" && verb=update
      timeout 3600 conda env "$verb" -n "$env_name" -f "$list" >&2 9>&- ||
        { dove_fail "conda env $verb failed, see above: correct environment.dependencies"; return 1; }
      echo "$env_key" > "$stamp"
    fi
    exec 9>&-
  fi
  conda activate "$env_name"
}
dove_missing() {
  printf '%s' "$env_requirements" | "$1" -c "$env_missing" || printf '%s' "$env_requirements"
}
dove_python() {
  local python version first=
  for python in "python$env_python" python3 /usr/bin/python3; do
    version=$("$python" -c 'import platform; print(platform.python_version())' 2>/dev/null) || continue
    case "$version." in "${env_python:-3}".*) ;; *) continue ;; esac
    [ -n "$first" ] || first=$python
    # Best is one that has everything already.
    [ -n "$(dove_missing "$python")" ] || { echo "$python"; return; }
  done
  [ -z "$first" ] || { echo "$first"; return; }
  dove_fail "needs python ${env_python:-3}, and this node has $(python3 --version 2>&1) and no conda" \
    "in $env_home/.Miniconda3: install Miniconda there, or ask for the node's python in" \
    "environment.dependencies"
}
dove_venv() {
  local venv="$env_root/$env_name-${env_key:0:8}" python missing
  if [ ! -f "$venv/.dove-made" ]; then
    python=$(dove_python) && dove_lock || return 1
    if [ ! -f "$venv/.dove-made" ]; then
      rm -rf "$venv"
      missing=$(dove_missing "$python")
      if [ -z "$missing" ]; then
        "$python" -m venv --system-site-packages --without-pip "$venv" >&2 9>&- ||
          { dove_fail "$python cannot make a venv, see above"; return 1; }
      else
        "$python" -m venv --system-site-packages "$venv" >&2 9>&- ||
          { dove_fail "$python cannot make a venv: install python3-venv on the node"; return 1; }
        printf '%s' "$env_requirements" > "$venv/requirements.txt"
        timeout 3600 "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
          -r "$venv/requirements.txt" >&2 9>&- ||
          { dove_fail "pip cannot install" $missing "(see above): loosen the versions in" \
              "environment.dependencies, or install Miniconda in $env_home/.Miniconda3"; return 1; }
      fi
      touch "$venv/.dove-made"
    fi
    exec 9>&-
  fi
  source "$venv/bin/activate"
}
if [ -f "$env_home/.Miniconda3/etc/profile.d/conda.sh" ]; then
  dove_conda || exit 1
elif [ "$env_lists" = 1 ]; then
  dove_venv || exit 1
fi
)SH";

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
      kFunctions);
}

}  // namespace dove::jobfiles
