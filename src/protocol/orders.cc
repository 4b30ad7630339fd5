#include "protocol/orders.h"

#include "protocol/orders_fields.h"

namespace dove::protocol {

std::string order_line(const Order& order) { return write(order); }

std::string launch_text(const Launch& launch) {
  std::string text;
  Writer ar(text);
  fields(ar, launch);
  return text;
}

std::string launch_line(const Order& order, const Placement& here, const std::string& launch_text) {
  std::string line = "{";
  Writer ar(line);
  fields(ar, order);
  ar.must("placement", here);
  return line + ',' + launch_text + '}';
}

Result<Order> read_order(const Json& line) { return read<Order>(line); }

Result<Launch> read_launch(const Json& line) {
  TRY_ASSIGN(Launch launch, read<Launch>(line));
  for (PeerNode& node : launch.nodes) node.underlay = node.address;
  return launch;
}

}  // namespace dove::protocol
