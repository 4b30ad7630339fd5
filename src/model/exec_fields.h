// The fields of what a job runs, listed once: for JSON as it is written and as it is read.
//
// To add one: add a line, with the name that JSON has for it and what a submission may say. An
// archive gets each line as `ar(name, value, rule)`; `ar.optional` is left out of JSON where it
// says nothing.
#pragma once

#include "model/exec.h"
#include "model/field_rules.h"
#include "model/labels.h"

namespace dove {

constexpr std::size_t kArgumentBytesMax = 131'071;  // of the Linux kernel, for one string
constexpr TextRule kArgumentRule{kArgumentBytesMax, TextRule::Kind::kAny};
constexpr TextRule kScriptRule{std::size_t{4} << 20, TextRule::Kind::kAny};
constexpr std::size_t kArgumentsMax = 4096;
constexpr std::size_t kEnvironmentMax = 1024;
constexpr std::int64_t kPortMax = 65'535;

template <class Ar>
void exec_fields(Ar& ar, typename Ar::template Of<ExecSpec>& v) {
  constexpr TextRule kVariable{256, TextRule::Kind::kEnvironmentName};
  ar.optional("script", v.script, field::Text{kScriptRule});
  ar.optional("script_arguments", v.script_arguments, field::Texts{kArgumentRule, kArgumentsMax});
  ar.optional("command", v.command, field::Texts{kArgumentRule, kArgumentsMax});
  ar("environment", v.environment, field::TextMap{kVariable, kArgumentRule, kEnvironmentMax});
  ar.optional("workdir", v.workdir, field::Text{kPathRule});
  ar.optional("stdout_path", v.output.stdout_path, field::Text{kPathRule});
  ar.optional("stderr_path", v.output.stderr_path, field::Text{kPathRule});
  ar.optional("stdin_path", v.output.stdin_path, field::Text{kPathRule});
  ar.optional("output_append", v.output.append, field::Plain{});
  ar.optional("output_rotate", v.output.rotate_bytes, field::Bytes{});
  ar.optional("container", v.container, field::Plain{});
  ar.optional("app", v.app, field::Plain{});
  ar("umask", v.umask, field::Text{{4, TextRule::Kind::kLine}});
  ar("stop_signal", v.stop_signal, field::Signal{1});
  ar.optional("warn_signal", v.warn_signal, field::Signal{0});
  ar.optional("warn_before_s", v.warn_before_s, field::Within{0, 1'000'000});
  ar.optional("source_name", v.source_name, field::Text{kPathRule});
  ar.optional("labels", v.labels, field::TextMap{kLabelNameRule, kLabelValueRule, kLabelsMax});
}

template <class Ar>
void container_fields(Ar& ar, typename Ar::template Of<ContainerSpec>& v) {
  ar.optional("image", v.image, field::Text{{1024, TextRule::Kind::kName}});
  ar.optional("name", v.name, field::Text{{64, TextRule::Kind::kName}});
  ar.optional("naming", v.naming, field::Plain{});
  ar.optional("save", v.save, field::Text{kPathRule});
  ar.optional("entrypoint", v.entrypoint, field::Plain{});
  ar.optional("root", v.root, field::Plain{});
  ar.optional("volumes", v.volumes, field::Plain{});
  ar.optional("read_only", v.read_only, field::Plain{});
  ar.optional("shm", v.shm_bytes, field::Bytes{});
  ar.optional("workdir", v.workdir, field::Text{kPathRule});
  ar.optional("network", v.network, field::Plain{});
  ar.optional("ports", v.ports, field::Plain{});
}

template <class Ar>
void app_fields(Ar& ar, typename Ar::template Of<AppSpec>& v) {
  ar.optional("name", v.name, field::Text{{64, TextRule::Kind::kName}});
  ar.optional("port", v.port, field::Within{1, kPortMax});
  ar.optional("socket", v.socket, field::Text{{108, TextRule::Kind::kLine}});
  ar.optional("health", v.health, field::Text{});
  ar.optional("path", v.path, field::Text{});
  ar.optional("activity", v.activity, field::Text{});
}

}  // namespace dove
