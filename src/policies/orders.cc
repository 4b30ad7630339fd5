#include "policies/orders.h"

#include <array>

#include "policies/attained_service.h"
#include "policies/dominant_share.h"
#include "policies/first_come.h"
#include "policies/last_come.h"
#include "policies/learned_service.h"
#include "policies/shortest_remaining.h"
#include "policies/shortest_service.h"

namespace dove::policies {

std::span<const NamedOrder> job_orders() {
  static const DominantShare dominant_share;
  static const FirstCome first_come;
  static const LastCome last_come;
  static const LearnedService learned_service;
  static const ShortestRemaining shortest_remaining;
  static const ShortestService shortest_service;
  static const AttainedService attained_service(0);
  static const AttainedService promoting(64);
  static const std::array orders = {
      NamedOrder{"default", &learned_service},
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

const core::JobOrder* find_job_order(std::string_view name) {
  for (const NamedOrder& it : job_orders()) {
    if (it.name == name) return it.order;
  }
  return nullptr;
}

}  // namespace dove::policies
