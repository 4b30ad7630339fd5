// ask(): whom a hook lets in.
#pragma once

#include "base/result.h"
#include "hook/answer.h"
#include "hook/hook.h"

namespace dove::hook {

// Blocks for at most the hook's limit: never on a loop. Wipes the password. Any thread. Errors,
// whose messages are for the log and never hold the password: kUnauthenticated refused;
// kUnavailable hook_failed, for whatever is no answer.
//
// A program has nothing of ours but PATH and LANG, no descriptors, and a session of its own, which
// ends with it.
Result<Person> ask(const Hook& hook, Question question);

}  // namespace dove::hook
