#include "model/declared.h"

namespace dove {

Declared::Declared() = default;
Declared::Declared(const Declared&) = default;
Declared::Declared(Declared&&) noexcept = default;
Declared& Declared::operator=(const Declared&) = default;
Declared& Declared::operator=(Declared&&) noexcept = default;
Declared::~Declared() = default;

}  // namespace dove
