// The tasks of an array that waits, as Slurm lists them: "1-4,7%2", "0-8:2". Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dove::slurm {

// Those before a comma, `most` of them; the others come first at a later look. None: the list is
// not understood.
std::vector<int> first_tasks(std::string_view tasks, std::size_t most);

// How many of its tasks may run at once; 0: any number.
int tasks_at_once(const std::string& tasks);

}  // namespace dove::slurm
