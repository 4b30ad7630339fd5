// The words for where a job, a placement and a node are.
//
// Pure. What an enumeration of the model is called: codec/words.h.
#pragma once

#include <span>
#include <string_view>

#include "core/state/state.h"

namespace dove::views {

// What people call where a job is: waiting, held, preparing, running, stopping, or its outcome.
std::string_view state_word(const core::Job& job);
// ready, drained (nothing starts), draining (and something still runs), onboard, test, suspect,
// repair, broken, silent, lost, expelled (and not gone yet), removed.
std::string_view state_word(const core::Node& node);
// "ordered" "prepared" "started" "ended"
std::string_view stage_word(core::PlacementStage stage);

// All that state_word(Job) can give.
std::span<const std::string_view> job_states();
// All that state_word(Node) can give.
std::span<const std::string_view> node_states();

}  // namespace dove::views
