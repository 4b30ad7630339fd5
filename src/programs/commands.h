// The commands that are programs of their own rather than clients of the API.
#pragma once

#include "cli/command.h"

namespace dove::programs {

cli::Command server_command();
cli::Command ca_show_command();
cli::Command ca_init_command();
cli::Command ca_rotate_command();
cli::Command agent_command();
cli::Command proxy_command();
cli::Command slurm_command();
cli::Command ssh_gateway_command();
cli::Command migrate_slurm_command();
cli::Command up_command();
cli::Command probe_command();
cli::Command check_password_command();
cli::Command doctor_command();
cli::Command backup_command();
cli::Command restore_command();
cli::Command replay_command();
cli::Command sim_record_command();
cli::Command sim_replay_muri_command();
cli::Command sim_replay_openb_command();
cli::Command sim_replay_philly_command();
cli::Command sim_replay_swf_command();
cli::Command sim_replay_log_command();
cli::Command sim_explore_command();

// The version of this build: "0.1.0".
const char* version();

}  // namespace dove::programs
