// Mail that a submitted job asks for: whether it may be sent there, and whether it will be.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "server/context.h"

namespace dove::server {

// Mail goes to addresses that the user has chosen for notices, and to domains that the site allows.
// Where no mail is sent at all, `spec` loses what it asks for, with a warning. The result:
// warnings. Errors: bad_address, mail_not_yours.
Result<std::vector<std::string>> take_mail(const Context& context, JobSpec& spec);

}  // namespace dove::server
