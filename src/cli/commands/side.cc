#include "cli/commands/side.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/client/submission.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "codec/json.h"
#include "wire/secret.h"

namespace dove::cli {
namespace {

using nlohmann::json;

// A built-in app gets these: it shows files, and computes nothing.
constexpr int kCores = 1;
constexpr char kMemory[] = "2Gi";

// As the job sees it: relative ones begin in its working directory.
Result<std::string> log_directory_of(const std::string& given, const jobfiles::ParsedJob& main) {
  const ExecSpec& exec = main.submission.exec;
  const std::string& base =
      exec.workdir.empty() && !exec.container.image.empty() ? exec.container.workdir : exec.workdir;
  if (given.starts_with('/')) return given;
  if (!base.empty()) return given.empty() ? base : base + "/" + given;
  return Error{ErrorKind::kInvalid, "no_log_directory",
               "the job begins in a directory of its own, which is removed with it: name where it "
               "writes, as in --tensorboard=/shared/ann/runs, or give it a --workdir",
               "log-directory"};
}

std::string filled(const std::string& pattern, const JobSpec& main, const std::string& id) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next != 'j' && next != 'x' && next != 'u' && next != '%') {
      out += pattern[i];
      continue;
    }
    out += next == 'j' ? id : next == 'x' ? main.name : next == 'u' ? local_user() : "%";
    ++i;
  }
  return out;
}

// The log directory is where the main job sees it: in its image, with its volumes, unless the app
// has an image of its own, which gets the volumes too.
void give_container(const json& main, json& body) {
  const auto theirs = main.find("container");
  if (theirs == main.end() || !theirs->is_object()) return;
  json& own = body["container"];
  if (own.is_null()) own = json::object();
  if (!own.is_object()) return;
  if (!own.contains("image")) own["image"] = theirs->value("image", "");
  const json volumes = theirs->value("volumes", json::array());
  json& list = own["volumes"];
  if (list.is_null()) list = json::array();
  if (!list.is_array()) return;
  for (const json& volume : volumes) list.push_back(volume);
}

Result<json> body_of(const SideApp& side, const jobfiles::ParsedJob& main,
                     const std::string& main_id) {
  const json job = codec::write_submission(main.submission);
  AppUse use;
  use.log_directory = filled(side.log_directory, main.submission.spec, main_id);
  TRY_ASSIGN(const std::string text, app_body(side.app, use));
  json body = json::parse(text, nullptr, false);
  body["name"] = fmt::format("{}.{}", side.app.name, main_id);
  body["side_of"] = std::stoll(main_id);
  for (const char* field : {"project", "queue", "pool"}) {
    if (!body.contains(field) && job.contains(field)) body[field] = job[field];
  }
  give_container(job, body);
  if (side.app.built_in == nullptr) return body;
  body["cores"] = kCores;
  body["memory"] = kMemory;
  // Its Python is that of the job.
  body["environment"] = job.value("environment", json::object());
  return body;
}

Result<void> submit_side(Api& api, const SideApp& side, const jobfiles::ParsedJob& main,
                         const std::string& main_id) {
  TRY_ASSIGN(const json body, body_of(side, main, main_id));
  TRY_ASSIGN(const json answer,
             api.send("POST", "/v1/jobs", body, {{"Idempotency-Key", wire::random_token(16)}}));
  for (const json& warning : list_of(answer, "warnings")) {
    if (warning.is_string()) say("warning: " + warning.get<std::string>());
  }
  const std::string id = std::to_string(number_of(answer, "id"));
  say(fmt::format("job {} is its {}, on {}: `dove open {}`", id, side.app.name,
                  filled(side.log_directory, main.submission.spec, main_id), id));
  return {};
}

}  // namespace

std::vector<OptionSpec> side_options() {
  return {{"tensorboard", 0, "LOGDIR",
           "a session beside the job: TensorBoard on LOGDIR (its working directory)", false, true},
          {"side", 0, "APP", "a session beside the job: this app, on its log directory", true},
          {"log-directory", 0, "LOGDIR",
           "where the job writes what sessions beside it show; %j is its id"}};
}

Result<std::vector<SideApp>> side_apps(Api& api, const Invocation& invocation,
                                       const jobfiles::ParsedJob& main) {
  std::vector<std::string> names = invocation.all("side");
  const std::string board = invocation.get("tensorboard");
  if (invocation.has("tensorboard")) names.insert(names.begin(), "tensorboard");
  if (names.empty()) {
    if (!invocation.has("log-directory")) return std::vector<SideApp>();
    return usage_error(
        "--log-directory is for sessions beside the job: add --tensorboard or --side");
  }
  if (!main.submission.spec.array.indices.empty()) {
    return Error{ErrorKind::kInvalid, "no_side_of_array",
                 "a session goes beside one job, not beside an array: start it by itself, with "
                 "`dove tensorboard LOGDIR`",
                 "side"};
  }
  std::vector<SideApp> sides;
  for (const std::string& name : names) {
    TRY_ASSIGN(FoundApp app, find_app(api, name));
    if (app.built_in != nullptr && !app.built_in->is_python) {
      return usage_error(
          fmt::format("{} shows no log directory: declare an app that does, or use "
                      "--tensorboard",
                      name));
    }
    const bool is_board = sides.empty() && invocation.has("tensorboard") && !board.empty();
    TRY_ASSIGN(std::string directory,
               log_directory_of(is_board ? board : invocation.get("log-directory"), main));
    sides.push_back({std::move(app), std::move(directory)});
  }
  return sides;
}

void submit_sides(Api& api, const std::vector<SideApp>& sides, const jobfiles::ParsedJob& main,
                  const std::string& main_id) {
  for (const SideApp& side : sides) {
    const Result<void> done = submit_side(api, side, main, main_id);
    if (done.ok()) continue;
    say(fmt::format("warning: job {} has no {} beside it: {}", main_id, side.app.name,
                    done.error().message));
  }
}

}  // namespace dove::cli
