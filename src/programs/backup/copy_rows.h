// The rows of a log, page by page from one store into an empty one, each verified on the way.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {

constexpr std::size_t kCopiedBytes = 4 << 20;  // in memory at once, or one batch

// `goes_on` is asked before each page; its error ends it.
template <class From, class To, class GoesOn>
Result<void> copy_rows(From& from, To& to, const GoesOn& goes_on) {
  TRY_ASSIGN(Seq after, from.forgotten_through());
  for (Epoch term;;) {
    TRY(goes_on());
    TRY_ASSIGN(const std::string bytes, from.page(after, term, kCopiedBytes));
    TRY_ASSIGN(const store::LogPage page, store::decode_page(bytes));
    TRY(store::verified_batches(page));
    TRY(to.take(page));
    if (!page.terms.empty()) term = page.terms.back().epoch;
    if (page.batches.empty()) return {};
    after = store::last_seq(page.batches.back().header);
  }
}

}  // namespace dove::programs
