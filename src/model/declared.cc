#include "model/declared.h"

#include "model/choice_members.h"

namespace dove {

template class Choice<DeclaredKinds>;

}  // namespace dove
