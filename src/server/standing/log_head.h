// The header Dove-Log-Head. In an answer it is the last record of the log that the answer reflects;
// in a request, the record that the answer must reflect.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "model/ids.h"
#include "wire/http.h"
#include "wire/responder.h"

namespace dove::server {

inline constexpr char kLogHead[] = "Dove-Log-Head";

// The record up to which the committed state goes; written on the loop, read by any thread.
using HeadSeen = std::shared_ptr<const std::atomic<std::uint64_t>>;

// Answers through `responder`, with the head of that moment; of a stream that of its begin. A
// `change` may look at each answer that is no stream, and put another one in its place.
std::shared_ptr<wire::Responder> with_log_head(std::shared_ptr<wire::Responder> responder,
                                               HeadSeen head,
                                               std::function<void(wire::Response&)> change = {});

// What the request's answer must contain; 0: it does not say. Error: kInvalid bad_log_head.
Result<Seq> wanted_head(const wire::Request& request);

}  // namespace dove::server
