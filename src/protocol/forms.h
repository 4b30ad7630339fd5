// How the model's nouns stand in messages: as codec writes them for the API, strictly read.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/declared.h"
#include "model/exec.h"
#include "model/health.h"
#include "model/job.h"
#include "model/node.h"
#include "model/placement.h"

namespace dove::protocol {

void write_form(std::string& out, const Placement& value);
void write_form(std::string& out, const std::vector<DeviceGrant>& value);
void write_form(std::string& out, const Inventory& value);
void write_form(std::string& out, const TaskExit& value);
void write_form(std::string& out, const ExecSpec& value);
void write_form(std::string& out, const ContainerSpec& value);

Result<void> read_form(const nlohmann::json& json, Placement& value);
Result<void> read_form(const nlohmann::json& json, std::vector<DeviceGrant>& value);
Result<void> read_form(const nlohmann::json& json, Inventory& value);
Result<void> read_form(const nlohmann::json& json, TaskExit& value);
Result<void> read_form(const nlohmann::json& json, ExecSpec& value);
Result<void> read_form(const nlohmann::json& json, ContainerSpec& value);
Result<void> read_form(const nlohmann::json& json, Finding& value);

template <class T>
concept HasForm = requires(std::string& out, const T& value) { write_form(out, value); };

// By the enumerators' numbers.
std::span<const std::string_view> words_of(LaunchMode);
std::span<const std::string_view> words_of(RunAs);
std::span<const std::string_view> words_of(Severity);
std::span<const std::string_view> words_of(Remedy);

}  // namespace dove::protocol
