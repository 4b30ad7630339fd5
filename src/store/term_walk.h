// TermWalk: the terms of a log, one after the other. No chain goes over them, so each is checked
// against the one before.
#pragma once

#include <string_view>

#include "model/ids.h"
#include "model/incarnation.h"

namespace dove::store {

class TermWalk {
 public:
  // Takes the next one. False: it is not one more than the newest, and begins no incarnation.
  bool take(Epoch term, std::string_view holder) {
    if (term.value != newest_.value + 1 && holder != restored_holder(term)) return false;
    newest_ = term;
    return true;
  }
  Epoch newest() const { return newest_; }  // 0: none yet

 private:
  Epoch newest_;
};

}  // namespace dove::store
