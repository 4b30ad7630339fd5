#include "jobfiles/tuxiv/environment_shell.h"

namespace dove::jobfiles {

const std::string_view kEnvironmentShell = R"SH(
env_root="$env_home/.dove/environments"
env_base="$env_root/$env_name-${env_key:0:8}"
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
  [ "${SLURM_LOCALID:-0}" != 0 ] || echo "dove: environment $env_name: $*" >&2
  return 1
}
dove_lock() {
  mkdir -p "$env_root" || { dove_fail "cannot write $env_root"; return 1; }
  exec 9>"$env_root/.$env_name.lock" || return 1
  flock -w 1800 9 || dove_fail "another job has been making it for 30 minutes: end that job first"
}
# What is held is not evicted: the lock lasts as long as the task. No if it is not there any more.
# Where homes know no locks (1 is a time-out, more is an error) it is entered all the same.
dove_hold() {
  [ -f "$1" ] && { exec 8<"$1"; } 2>/dev/null || return 1
  flock -s -w 600 8 2>/dev/null || [ $? -gt 1 ] || return 1
  [ -f "$1" ] || return 1
  touch "$1" 2>/dev/null || true
}
# The ten environments used last stay, and those that a task is in; only what was made here goes.
dove_evict() {
  local stamp name count=0
  while IFS= read -r stamp; do
    count=$((count + 1))
    [ "$count" -gt 10 ] || continue
    (
      { exec 7<"$stamp"; } 2>/dev/null && flock -xn 7 || exit 0
      rm -f "$stamp"
      name=${stamp##*/}
      if [ "$name" = .dove-made ]; then
        rm -rf "${stamp%/.dove-made}" "${stamp%/.dove-made}.yaml"
      else
        name=${name%.conda-key}
        rm -f "$env_root/$name.conda.yaml"
        timeout 600 conda env remove -y -n "$name" >&2
      fi
    ) 9>&-
  done < <(ls -t -- "$env_root"/*/.dove-made "$env_root"/*.conda-key 2>/dev/null)
}
dove_tool() {
  local tool folder
  for tool in "$@"; do
    command -v "$tool" && return
    for folder in .local .cargo miniforge3 mambaforge miniconda3 anaconda3; do
      [ ! -x "$env_home/$folder/bin/$tool" ] || { echo "$env_home/$folder/bin/$tool"; return; }
    done
    [ ! -x "/opt/conda/bin/$tool" ] || { echo "/opt/conda/bin/$tool"; return; }
  done
  return 1
}
dove_miniconda() {
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
      dove_hold "$stamp" && dove_evict
    fi
    exec 9>&-
  fi
  [ "$env_lists" != 1 ] || dove_hold "$stamp"
  conda activate "$env_name"
}
dove_conda() {
  local program=$1 made="$env_base.conda" kind=conda verb="env create"
  [[ "$program" != */micromamba ]] || { kind=micromamba; verb="create -y"; }
  if [ "$env_lists" = 1 ] && ! dove_hold "$made/.dove-made"; then
    dove_lock || return 1
    if [ ! -f "$made/.dove-made" ]; then
      rm -rf "$made"
      printf '%s' "$env_conda" > "$made.yaml"
      timeout 3600 "$program" $verb -p "$made" -f "$made.yaml" >&2 9>&- </dev/null ||
        { dove_fail "$program $verb failed, see above: correct environment.dependencies"; return 1; }
      touch "$made/.dove-made"
      dove_hold "$made/.dove-made" && dove_evict
    fi
    exec 9>&-
    dove_hold "$made/.dove-made"
  fi
  [ "$env_lists" = 1 ] || made=$env_name
  if [ "$kind" = micromamba ]; then eval "$("$program" shell hook -s bash)"
  else eval "$("$program" shell.bash hook)"
  fi
  "$kind" activate "$made"
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
  [ -n "$first" ] && echo "$first"
}
dove_no_python() {
  dove_fail "needs python ${env_python:-3}; $(uname -n) has $(python3 --version 2>&1) and no conda in" \
    "$env_home/.Miniconda3, no conda, micromamba or uv: install one of them, or ask for the node's" \
    "python in environment.dependencies"
}
dove_venv() {
  local venv=$env_base python uv= missing pip
  if ! dove_hold "$venv/.dove-made"; then
    python=$(dove_python) || uv=$(dove_tool uv) || { dove_no_python; return 1; }
    dove_lock || return 1
    if [ ! -f "$venv/.dove-made" ]; then
      rm -rf "$venv"
      if [ -n "$uv" ]; then
        timeout 3600 "$uv" venv --python "$env_python" "$venv" >&2 9>&- ||
          { dove_fail "uv cannot bring python $env_python, see above: ask for one that it has"; return 1; }
        missing=$env_requirements pip=("$uv" pip install --python "$venv/bin/python")
      else
        missing=$(dove_missing "$python")
        pip=("$venv/bin/python" -m pip install --disable-pip-version-check --no-input)
        if [ -z "$missing" ]; then
          "$python" -m venv --system-site-packages --without-pip "$venv" >&2 9>&- ||
            { dove_fail "$python cannot make a venv, see above"; return 1; }
        else
          "$python" -m venv --system-site-packages "$venv" >&2 9>&- ||
            { dove_fail "$python cannot make a venv: install python3-venv on the node"; return 1; }
        fi
      fi
      if [ -n "$missing" ]; then
        printf '%s' "$env_requirements" > "$venv/requirements.txt"
        timeout 3600 "${pip[@]}" -r "$venv/requirements.txt" >&2 9>&- </dev/null ||
          { dove_fail "pip cannot install" $missing "(see above): loosen the versions in" \
              "environment.dependencies, or install Miniconda in $env_home/.Miniconda3"; return 1; }
      fi
      touch "$venv/.dove-made"
      dove_hold "$venv/.dove-made" && dove_evict
    fi
    exec 9>&-
    dove_hold "$venv/.dove-made"
  fi
  source "$venv/bin/activate"
}
if [ -f "$env_home/.Miniconda3/etc/profile.d/conda.sh" ]; then
  [ -n "${DOVE_ENVIRONMENT_CHECK:-}" ] || dove_miniconda || exit 1
elif env_tool=$(dove_tool micromamba conda); then
  [ -n "${DOVE_ENVIRONMENT_CHECK:-}" ] || dove_conda "$env_tool" || exit 1
elif [ "$env_lists" = 1 ]; then
  if [ -n "${DOVE_ENVIRONMENT_CHECK:-}" ]; then
    dove_python >/dev/null || dove_tool uv >/dev/null || { dove_no_python; exit 1; }
  else
    dove_venv || exit 1
  fi
fi
)SH";

}  // namespace dove::jobfiles
