// Sessions: what a signed-in browser holds, however its person was authenticated.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/context.h"
#include "server/sign_in/open_id_person.h"

namespace dove::server {

// Who the caller is here, as /v1/me answers.
nlohmann::json me_json(const core::State& state, const Caller& caller);

// Writes down what a sign-in changes of users and groups, as the word of `way` ("corp", "linux",
// "hook"), then calls `done`; at once when there is nothing. What fails is answered.
void declare_person(Context& context, const CallPtr& call, const std::string& way,
                    std::vector<Event> changes, std::function<void()> done);

// The call's caller is this person from here on; what the sign-in changes is written down as
// declare_person() does, and what was left out of it is logged.
void let_person_in(Context& context, const CallPtr& call, const std::string& way,
                   const OpenIdPerson& person, std::function<void()> done);

// Has auditors read of a sign-in that failed because who was asked did not answer; fail() has them
// read of refusals alone. Others are passed over.
void note_unanswered(const Call& call, const Error& error);

// Answers with `error`, which counts as a wrong try of the caller's address.
void refuse_sign_in(Context& context, const CallPtr& call, const Error& error);

struct PasswordTry {
  std::shared_ptr<void> share;  // of what one address may try; ends with the answer
  std::int64_t began_us = 0;    // Loop::monotonic_us()
};

// The same for a password that nobody has said to be right. Where some are judged here and others
// by PAM or the hook, which takes another time, whoever measures it would know who has a password
// here: all are answered four seconds after they were asked. That is longer than pam_unix has a
// wrong one wait, three seconds at most; one that is judged later is answered then.
void refuse_password(Context& context, const CallPtr& call, const PasswordTry& tried,
                     const Error& error);

// Opens a session of 12 hours for `caller`, who is declared, shorter when the key that they showed
// ends before. `opened` gets the key and the value of Set-Cookie; what fails is answered.
void open_session(Context& context, const CallPtr& call, const Caller& caller,
                  std::function<void(const Key& key, const std::string& cookie)> opened);
// The same for the call's own caller, and answers with it.
void answer_session(Context& context, const CallPtr& call);

}  // namespace dove::server
