// Decimal fields of traces ("66.0", "1010") as whole numbers of a smaller unit, without floats.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sim/traces/csv_table.h"

namespace dove::sim {

// The field times `per_unit`, cut off below one. The bounds are in the field's own unit. An error
// names the place. REQUIRES: per_unit is a power of ten; most * per_unit fits.
Result<std::int64_t> decimal(const CsvTable& table, std::size_t row, std::size_t column,
                             std::int64_t per_unit, std::int64_t least, std::int64_t most);

}  // namespace dove::sim
