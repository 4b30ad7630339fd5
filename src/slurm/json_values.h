// How Slurm writes values in JSON, version by version. Pure.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dove::slurm {

// A node with more is not believed.
inline constexpr std::int64_t kMemoryMax_mib = std::int64_t{1} << 40;

// Absent, null and of another type: "".
std::string text_of(const nlohmann::json& object, const char* name);

// A plain number, null for "not set", or (since v0.0.39) {"set": true, "infinite": false, "number":
// 7}. None: it is not set, or below 0.
std::optional<std::int64_t> number_of(const nlohmann::json& object, const char* name);

// A boolean, or a number other than 0.
bool is_set(const nlohmann::json& object, const char* name);

// What scontrol calls the job: "17"; "17_3" where 17 may be a whole array.
std::string handle_of(const nlohmann::json& job);

// As waitpid() has it: a number, or (since v0.0.40) {"return_code": 7, "signal": {"id": 9}}.
int wait_status_of(const nlohmann::json& object, const char* name);

// A word, or (since v0.0.39) a list of them; in capitals.
std::vector<std::string> words_of(const nlohmann::json& object, const char* name);
bool has_word(const std::vector<std::string>& words, std::string_view word);

}  // namespace dove::slurm
