#include "protocol/forms.h"

#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_container.h"
#include "codec/json_health.h"
#include "codec/words.h"
#include "protocol/archive.h"

namespace dove::protocol {
namespace {

template <class T>
Result<void> take(Result<T> read, T& value) {
  if (!read.ok()) return read.error();
  value = std::move(read).value();
  return {};
}

}  // namespace

void write_form(std::string& out, const Placement& value) {
  out += codec::dump_json(codec::placement_json(value));
}
void write_form(std::string& out, const std::vector<DeviceGrant>& value) {
  out += codec::dump_json(codec::grants_json(value));
}
void write_form(std::string& out, const Inventory& value) {
  out += codec::dump_json(codec::inventory_json(value));
}
void write_form(std::string& out, const TaskExit& value) {
  out += codec::dump_json(codec::task_exit_json(value));
}
void write_form(std::string& out, const ExecSpec& value) { out += codec::encode_exec(value); }
void write_form(std::string& out, const ContainerSpec& value) {
  out += codec::dump_json(codec::container_json(value));
}

Result<void> read_form(const Json& json, Placement& value) {
  return take(codec::read_placement(json), value);
}
Result<void> read_form(const Json& json, std::vector<DeviceGrant>& value) {
  return take(codec::read_grants(json), value);
}
Result<void> read_form(const Json& json, Inventory& value) {
  return take(codec::read_inventory(json), value);
}
Result<void> read_form(const Json& json, TaskExit& value) {
  return take(codec::read_task_exit(json), value);
}
Result<void> read_form(const Json& json, ExecSpec& value) {
  return take(codec::decode_exec(json), value);
}
Result<void> read_form(const Json& json, ContainerSpec& value) {
  return take(codec::read_container(json), value);
}
Result<void> read_form(const Json& json, Finding& value) {
  return take(codec::read_finding(json), value);
}

std::span<const std::string_view> words_of(LaunchMode) { return codec::launch_modes(); }
std::span<const std::string_view> words_of(RunAs) { return codec::run_as_modes(); }
std::span<const std::string_view> words_of(Severity) { return codec::severities(); }
std::span<const std::string_view> words_of(Remedy) { return codec::remedies(); }

Error malformed(const Failure& failure) {
  return Error{ErrorKind::kInvalid, "malformed_message",
               "this message cannot be read: " +
                   (failure.where.empty() ? "it " : "`" + failure.where + "` ") + failure.what +
                   "; compare `dove version` on both machines",
               failure.where};
}

}  // namespace dove::protocol
