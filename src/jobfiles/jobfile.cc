#include "jobfiles/jobfile.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "jobfiles/draft.h"
#include "jobfiles/native.h"
#include "jobfiles/sbatch.h"
#include "jobfiles/tuxiv/tuxiv.h"
#include "jobfiles/words.h"
#include "text/utf8.h"

namespace dove::jobfiles {

namespace {

Place place_of(const Source& source, std::size_t offset) {
  std::string_view before = std::string_view(source.text).substr(0, offset);
  std::size_t newline = before.rfind('\n');
  std::size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
  return Place{source.name, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
               static_cast<int>(offset - line_start) + 1};
}

Format format_of(const Source& source) {
  if (source.format != Format::kAuto) return source.format;
  const std::string& name = source.name;
  std::string_view base = std::string_view(name).substr(name.rfind('/') + 1);
  if (base == "tuxiv.conf" || base == "tuxiv.config" || base.ends_with(".tuxiv.conf")) {
    return Format::kTuxiv;
  }
  for (std::string_view ending : {".yaml", ".yml", ".json"}) {
    if (base.ends_with(ending)) return Format::kNative;
  }
  if (source.text.starts_with("{")) return Format::kNative;
  return Format::kSbatch;
}

Result<void> check_context(const Context& context) {
  auto bad = [](std::string_view path) {
    return !path.empty() &&
           (path[0] != '/' || !text::is_utf8(path) ||
            path.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos);
  };
  if (bad(context.workdir) || bad(context.home) || bad(context.userdir)) {
    return invalid("the working, home and user directory must be absolute paths in UTF-8");
  }
  return {};
}

Result<ParsedJob> parse_as(Format format, const Source& source, const Context& context) {
  switch (format) {
    case Format::kTuxiv:
      return parse_tuxiv(source, context);
    case Format::kWrap:
      return parse_wrap(source, context);
    case Format::kNative:
      return parse_native(source, context);
    case Format::kAuto:
    case Format::kSbatch:
      return parse_sbatch(source, context);
  }
  return invalid("unknown format");
}

struct FieldOption {
  std::string_view field;   // of the API, or how it begins
  std::string_view option;  // long, without dashes
};
constexpr FieldOption kFieldOptions[] = {
    {"array", "array"},
    {"begin_at", "begin"},
    {"cluster_requests.licence:", "licenses"},
    {"container.image", "container-image"},
    {"container.mounts", "container-mounts"},
    {"container.ports", "container-publish"},
    {"container.workdir", "container-workdir"},
    {"deadline", "deadline"},
    {"dependencies", "dependency"},
    {"executor", "executor"},
    {"features", "constraint"},
    {"groups[0].nodes", "nodes"},
    {"groups[0].per_node.cores", "cpus-per-gpu"},
    {"groups[0].per_node.countables", "gres"},
    {"groups[0].per_node.gpu", "gpus-per-node"},
    {"groups[0].per_node.memory", "mem"},
    {"groups[0].per_node.sl", "gres"},
    {"groups[0].per_task.cores", "cpus-per-task"},
    {"groups[0].per_task.gpu", "gpus-per-task"},
    {"groups[0].per_task.memory", "mem-per-cpu"},
    {"groups[0].tasks_per_node", "ntasks-per-node"},
    {"groups[0].tasks", "ntasks"},
    {"name", "job-name"},
    {"nodes_excluded", "exclude"},
    {"nodes_wanted", "nodelist"},
    {"pool", "partition"},
    {"priority", "priority"},
    {"project", "account"},
    {"queue", "qos"},
    {"reservation", "reservation"},
    {"stderr_path", "error"},
    {"stdin_path", "input"},
    {"stdout_path", "output"},
    {"time_limit", "time"},
    {"workdir", "chdir"},
};

}  // namespace

Error in_typed_words(Error error, const ParsedJob& job) {
  for (const FieldOption& each : kFieldOptions) {
    if (!error.field.starts_with(each.field)) continue;
    if (!job.typed.contains("*") && !job.typed.contains(std::string(each.option))) break;
    if (error.message.starts_with(error.field + ": ")) {
      error.message.erase(0, error.field.size() + 2);
    }
    error.message = fmt::format("--{}: {}", each.option, error.message);
    error.field = fmt::format("--{}", each.option);
    break;
  }
  return error;
}

namespace {

// A job that is native is spoken of in the API's words, but for what the command line changed.
Result<ParsedJob> checked(ParsedJob job, const Context& context, bool is_native) {
  for (const Option& option : context.options) job.typed.insert(option.name);
  if (!is_native) job.typed.insert("*");
  // As the server will read it: what is accepted here is accepted there.
  auto read = codec::read_submission(codec::write_submission(job.submission));
  if (!read.ok()) return in_typed_words(read.error(), job);
  return job;
}

}  // namespace

Result<ParsedJob> parse(const Source& source, const Context& context) {
  TRY(check_context(context));
  if (source.text.size() > kFileBytesMax) {
    return Error{ErrorKind::kTooLarge, "file_too_large",
                 fmt::format("{}: the file has {} bytes, at most {} are read: keep data out of job "
                             "files",
                             source.name, source.text.size(), kFileBytesMax),
                 source.name};
  }
  if (const std::size_t good = text::utf8_bytes(source.text); good != source.text.size()) {
    return at_place(invalid("the text is not UTF-8 here: convert the file", "not_utf8"),
                    place_of(source, good));
  }
  TRY_ASSIGN(ParsedJob job, parse_as(format_of(source), source, context));
  return checked(std::move(job), context, format_of(source) == Format::kNative);
}

codec::Submission command_job(const std::vector<std::string>& command) {
  CHECK(!command.empty(), "a job without a command");
  codec::Submission job;
  const std::string& program = command[0];
  const std::string base = program.substr(program.rfind('/') + 1);
  if (!base.empty()) job.spec.name = base;
  TaskGroup group;
  group.per_task.cores = 1;
  job.spec.groups = {group};
  job.exec.command = command;
  return job;
}

Result<ParsedJob> complete(codec::Submission given, const std::string& name,
                           const Context& context) {
  TRY(check_context(context));
  TRY_ASSIGN(ParsedJob job, finish_native(std::move(given), name, context));
  return checked(std::move(job), context, name != kTyped);
}

}  // namespace dove::jobfiles
