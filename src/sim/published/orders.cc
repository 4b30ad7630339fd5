#include "sim/published/orders.h"

#include <array>

#include "sim/published/attained_service.h"
#include "sim/published/dominant_share.h"
#include "sim/published/first_come.h"
#include "sim/published/last_come.h"
#include "sim/published/shortest_remaining.h"
#include "sim/published/shortest_service.h"

namespace dove::sim {

std::span<const NamedOrder> job_orders() {
  static const DominantShare dominant_share;
  static const FirstCome first_come;
  static const LastCome last_come;
  static const ShortestRemaining shortest_remaining;
  static const ShortestService shortest_service;
  static const AttainedService attained_service(0);
  static const AttainedService promoting(64);
  static const std::array orders = {
      NamedOrder{"drf", &dominant_share},
      NamedOrder{"fifo", &first_come},
      NamedOrder{"lifo", &last_come},
      NamedOrder{"srsf", &shortest_service},
      NamedOrder{"srtf", &shortest_remaining},
      NamedOrder{"tiresias-l", &attained_service},
      NamedOrder{"tiresias-l-promoting", &promoting},
  };
  return orders;
}

const JobOrder* find_job_order(std::string_view name) {
  for (const NamedOrder& it : job_orders()) {
    if (it.name == name) return it.order;
  }
  return nullptr;
}

}  // namespace dove::sim
