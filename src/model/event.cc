#include "model/event.h"

#include "model/choice_members.h"

namespace dove {

template class Choice<EventKinds>;
template class Choice<DecisionKinds>;

}  // namespace dove
