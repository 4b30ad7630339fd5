#include "model/level.h"

#ifndef DOVE_LEVELS_BACK  // of dove-former: 1
#define DOVE_LEVELS_BACK 0
#endif

namespace dove {

const std::int32_t kProgramLevel = kNewestLevel - DOVE_LEVELS_BACK;
static_assert(kNewestLevel - DOVE_LEVELS_BACK >= kFirstLevel);

}  // namespace dove
