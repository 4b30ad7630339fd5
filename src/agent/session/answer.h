// The part of the controller's answers that is the same for all calls. Pure.
//
// Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "wire/http.h"

namespace dove::agent {

// The answer's JSON object; an empty one if it is none.
nlohmann::json answer_object(const wire::Response& answer);
// The member, if it is a text; else "".
std::string answer_text(const nlohmann::json& object, const char* name);
// The controller lives and does not write; not what somebody between says for it.
bool says_full(const wire::Response& answer, const nlohmann::json& body);
// Another controller may lead: who answers says so, or may not answer. It proves nothing.
bool is_elsewhere(const Error& error);
// What an answer other than 2xx says, as an Error with `code`; those of is_elsewhere() keep theirs.
Error answer_refusal(const wire::Response& answer, const nlohmann::json& body, const char* code);

// Somebody answers there who is not the controller as we know it, or does not know us.
bool is_distrust(const Error& error);
// The controller, as we know it, lets this node in no more: it was expelled or removed. Why, it
// says at people's port alone.
bool is_cut_off(const Error& error);

}  // namespace dove::agent
