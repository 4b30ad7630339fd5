#include "protocol/reports.h"

#include "protocol/reports_fields.h"

namespace dove::protocol {

std::string report_text(const Report& report) { return write(report); }

Result<Report> read_report(const Json& json) { return read<Report>(json); }

const AttemptKey* key_of(const Report& report) {
  return std::visit(
      [](const auto& said) -> const AttemptKey* {
        if constexpr (requires { said.key; }) return &said.key;
        return nullptr;
      },
      report);
}

}  // namespace dove::protocol
