// The columns of a record that are there for people's SQL, taken from the record itself. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "codec/record.h"
#include "model/event.h"

namespace dove::store {

struct RecordColumns {
  std::string_view kind;
  std::optional<std::uint64_t> job;
  std::optional<std::uint64_t> node;
};

// `record` is an Event or a Decision.
template <class Record>
RecordColumns columns_of(const Record& record) {
  RecordColumns columns;
  columns.kind = codec::kind_name(record);
  std::visit(
      [&](const auto& payload) {
        if constexpr (requires { payload.job; }) columns.job = payload.job.value;
        if constexpr (requires { payload.node.value; }) columns.node = payload.node.value;
      },
      record);
  return columns;
}

}  // namespace dove::store
