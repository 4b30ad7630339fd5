// AttemptRecord: the files of an attempt from which a restarted agent continues. They are few,
// because each costs a job time.
//
// The attempt's directory is the agent's: `record`, a file per task (agent/tasks/shim_handle.h)
// and, for a batch job, `script` and `hostfile`. In it are directories of the task's user: `work`
// if the job names no other, `tmp` for steps, `shares` if it has some, and `output`, which is
// created with its first byte. The record has these lines: the order as it came; one if the node
// offered networks of gangs then; one for what keeps its tasks to their shares of devices, if any;
// one for its final place, if that is another; then one for each stage. The order's line is written
// before anything is started, and a line without its end does not count. Lines have digests, and
// one that is damaged is not believed: an end is not known then, and after any other damage the
// order is none that can be read. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "agent/attempts/order.h"
#include "base/result.h"
#include "protocol/reports.h"

namespace dove::agent {

// The names of the tasks' files in it begin with it.
inline constexpr char kTaskPrefix[] = "task.";

// Makes the directory with all that is needed to start. What tasks write there belongs to
// `linux_user`; "": to the agent's own.
Result<void> write_attempt(const std::string& directory, const LaunchOrder& order,
                           const std::string& order_text, const std::string& linux_user);
// Where steps keep what is passing; there already or not.
Result<void> make_tmp(const std::string& directory, const std::string& linux_user);

// That it was started, once its tasks are: their files say so, too, unless they are lost.
void write_started(const std::string& directory);
// What holds its tasks to their shares (agent/devices/device_shares.h).
void write_shares(const std::string& directory, const std::string& keeper);
// The placement that counts, which is not the order's.
void write_place(const std::string& directory, const Placement& placement);
// That its agent goes away and stops it; before it does.
void write_left(const std::string& directory);
// Ended or LaunchRefused. `started_us`: by this machine's clock; 0: nothing was started.
void write_ended(const std::string& directory, const protocol::Report& report,
                 std::int64_t started_us);

struct AttemptOnDisk {
  std::string order;               // the launch order's text; "": none
  bool has_network = false;        // LaunchOrder's
  std::optional<Placement> place;  // unset: the order's
  bool started = false;
  bool left = false;
  std::string shares;  // "": none
  // When the order or the start was written; unset: there is no record.
  std::optional<std::filesystem::file_time_type> written;
  std::optional<protocol::Report> ended;  // Ended or LaunchRefused
  std::int64_t started_us = 0;            // with `ended`
};
AttemptOnDisk read_attempt(const std::string& directory);
// Since it was written; 0 without a record.
std::int64_t age_us(const AttemptOnDisk& found);
// Whether a task was started in it.
bool has_task_files(const std::string& directory);

// For what stays of an attempt that is over: takes its job's environment and token out of the
// order, and removes the tasks' files, which hold them as well. After an error some of it is still
// there.
Result<void> drop_environment(const std::string& directory);

// "7.1" as a key; nothing if it is not one.
std::optional<AttemptKey> read_key(const std::string& text);

}  // namespace dove::agent
