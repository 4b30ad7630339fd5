// The files of tcloud v0.4.1, byte for byte.
#include <fmt/core.h>

#include <algorithm>

#include "jobfiles/tuxiv/environment.h"
#include "jobfiles/tuxiv/tuxiv.h"
#include "jobfiles/tuxiv/tuxiv_script.h"

namespace dove::jobfiles {

namespace {

std::vector<std::string> upstream(const std::vector<TuxivItem>& items) {
  std::vector<std::string> texts;
  for (const TuxivItem& item : items) {
    if (item.upstream) texts.push_back(item.text);
  }
  return texts;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::string conda_yaml(const TuxivFile& file) {
  std::string text = fmt::format("name: {}\nchannels:\n", environment_name(file));
  for (const std::string& channel : upstream(file.channels)) text += "  - " + channel + "\n";
  text += "dependencies:\n";
  std::vector<std::string> dependencies = upstream(file.dependencies);
  // Making up a name sorts the list as a side effect.
  if (file.environment_name.empty()) std::sort(dependencies.begin(), dependencies.end());
  for (const std::string& dependency : dependencies) text += "  - " + dependency + "\n";
  return text;
}

std::string run_sh(const TuxivFile& file, const Context& context) {
  std::string text = fmt::format(
      "#!/bin/bash\nsource {}/.Miniconda3/etc/profile.d/conda.sh\nconda activate {}\n\n",
      context.home, environment_name(file));
  for (const std::string& item : upstream(file.entrypoint)) text += item + " \\\n";
  return text;
}

}  // namespace

std::string substituted(std::string text, const Context& context) {
  const std::string userdir = tuxiv_userdir(context);
  const std::string log = userdir + "/slurm_log";
  // In tcloud's order; it matters where one name begins with another.
  replace_all(text, "${TACC_WORKDIR}", context.workdir);
  replace_all(text, "$TACC_WORKDIR", context.workdir);
  replace_all(text, "${TACC_USERDIR}", userdir);
  replace_all(text, "$TACC_USERDIR", userdir);
  replace_all(text, "${TACC_SLURM_USERLOG}", log);
  replace_all(text, "$TACC_SLURM_USERLOG", log);
  return text;
}

std::string slurm_head(const TuxivFile& file, const Context& context) {
  std::string text = "#!/bin/bash\n";
  bool output = false;
  for (const std::string& item : upstream(file.general)) {
    output = output || item.find("output=") != std::string::npos;
    text += substituted("#SBATCH --" + item, context) + "\n";
  }
  if (!output) text += "#SBATCH --output=" + default_output(context) + "\n";
  for (const std::string& item : upstream(file.modules)) text += "module load " + item + "\n";
  for (const std::string& item : upstream(file.env)) text += "export " + item + "\n";
  text += "export TACC_WORKDIR=" + context.workdir + "\n";
  text += "export TACC_USERDIR=" + tuxiv_userdir(context) + "\n";
  return text;
}

std::vector<GeneratedFile> tcloud_files(const TuxivFile& file, const Context& context) {
  std::string citynet;
  for (const std::string& name : upstream(file.datasets)) citynet += name + "\n";
  return {
      GeneratedFile{"configurations/conda.yaml", conda_yaml(file), 0644},
      GeneratedFile{"configurations/run.slurm",
                    slurm_head(file, context) + "srun " + context.workdir + "/run.sh\n", 0644},
      GeneratedFile{"configurations/citynet.sh", citynet, 0644},
      GeneratedFile{"run.sh", run_sh(file, context), 0755},
  };
}

}  // namespace dove::jobfiles
