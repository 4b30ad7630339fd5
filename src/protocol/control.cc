#include "protocol/control.h"

#include "protocol/control_fields.h"

namespace dove::protocol {

std::string control_line(const Control& control) { return write(control); }

Result<Control> read_control(const Json& line) { return read<Control>(line); }

}  // namespace dove::protocol
