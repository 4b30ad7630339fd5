#include "model/event.h"

namespace dove {

Event::Event() = default;
Event::Event(const Event&) = default;
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(const Event&) = default;
Event& Event::operator=(Event&&) noexcept = default;
Event::~Event() = default;

Decision::Decision() = default;
Decision::Decision(const Decision&) = default;
Decision::Decision(Decision&&) noexcept = default;
Decision& Decision::operator=(const Decision&) = default;
Decision& Decision::operator=(Decision&&) noexcept = default;
Decision::~Decision() = default;

}  // namespace dove
