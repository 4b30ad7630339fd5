// The members of Choice, for the source files that have one compiled.
#pragma once

#include "model/choice.h"

namespace dove {

template <class Names>
Choice<Names>::Choice() = default;
template <class Names>
Choice<Names>::Choice(const Choice&) = default;
template <class Names>
Choice<Names>::Choice(Choice&&) noexcept = default;
template <class Names>
Choice<Names>& Choice<Names>::operator=(const Choice&) = default;
template <class Names>
Choice<Names>& Choice<Names>::operator=(Choice&&) noexcept = default;
template <class Names>
Choice<Names>::~Choice() = default;

}  // namespace dove
