#include "cli/commands/job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/client/submission.h"
#include "cli/terminal/output.h"
#include "codec/json.h"

namespace dove::cli {
namespace {

using nlohmann::json;

// Our own words for what sbatch calls otherwise.
struct Synonym {
  const char* name;
  const char* meant;
};
constexpr Synonym kSynonyms[] = {{"name", "job-name"},           {"queue", "qos"},
                                 {"pool", "partition"},          {"tasks", "ntasks"},
                                 {"cores", "cpus-per-task"},     {"memory", "mem"},
                                 {"stdout", "output"},           {"stderr", "error"},
                                 {"workdir", "chdir"},           {"image", "container-image"},
                                 {"volume", "container-mounts"}, {"publish", "container-publish"},
                                 {"start-at", "begin"}};

}  // namespace

std::vector<jobfiles::Option> job_options(const Invocation& invocation) {
  std::vector<jobfiles::Option> options;
  for (jobfiles::Option& option : sbatch_options_of(invocation)) {
    // Here -o is the form of what submit prints, and --wrap the job itself.
    if (option.name != "output" && option.name != "wrap") options.push_back(std::move(option));
  }
  for (const Synonym& synonym : kSynonyms) {
    for (const std::string& value : invocation.all(synonym.name)) {
      options.push_back({synonym.meant, value, {"command line", 0, 0}});
    }
  }
  return options;
}

// --set FIELD=VALUE on the job as the API takes it.
Result<void> set_fields(const Invocation& invocation, jobfiles::ParsedJob& job) {
  if (!invocation.has("set")) return {};
  json body = codec::write_submission(job.submission);
  for (const std::string& given : invocation.all("set")) {
    const std::size_t equals = given.find('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error(fmt::format("--set={}: write FIELD=VALUE", given));
    }
    std::string path = "/" + given.substr(0, equals);
    std::replace(path.begin(), path.end(), '.', '/');
    const std::string text = given.substr(equals + 1);
    json value = json::parse(text, nullptr, false);
    if (value.is_discarded()) value = text;
    try {
      body[json::json_pointer(path)] = std::move(value);
    } catch (const json::exception&) {
      return usage_error(fmt::format("--set={}: there is no such field", given));
    }
  }
  TRY_ASSIGN(job.submission, codec::read_submission(body));
  return {};
}

OptionSpec set_option() {
  return {"set", 0, "FIELD=VALUE", "any other field of the job: retries_max=2", true};
}

std::vector<OptionSpec> job_option_specs() {
  std::vector<OptionSpec> options;
  for (const Synonym& synonym : kSynonyms) {
    options.push_back({synonym.name, 0, "VALUE", fmt::format("same as --{}", synonym.meant)});
  }
  for (OptionSpec& option : sbatch_option_specs("o")) {
    if (option.name != "output" && option.name != "help") options.push_back(std::move(option));
  }
  return options;
}

}  // namespace dove::cli
