// What --mail-type and --mail-user of sbatch set. Only the option table refers to them.
#pragma once

#include "jobfiles/option_setters.h"

namespace dove::jobfiles {

Set set_mail_type, set_mail_user;

}  // namespace dove::jobfiles
