// What those are told whose input is not taken. Pure.
#pragma once

#include "base/result.h"

namespace dove::controller {

Error stopping_error();
Error busy_error();
// To those whose batch was not written, or may not have been, by the error of that.
Error refusal_of(const Error& error);

}  // namespace dove::controller
