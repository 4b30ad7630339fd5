// dove: one program for everything. Names the commands that are not clients of the API and leaves
// the rest to the command line.
#include <csignal>

#include "cli/cli.h"
#include "programs/commands.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return dove::cli::run_cli({dove::programs::up_command(),
                             dove::programs::probe_command(),
                             dove::programs::check_password_command(),
                             dove::programs::server_command(),
                             dove::programs::agent_command(),
                             dove::programs::proxy_command(),
                             dove::programs::slurm_command(),
                             dove::programs::ssh_gateway_command(),
                             dove::programs::migrate_slurm_command(),
                             dove::programs::ca_show_command(),
                             dove::programs::ca_init_command(),
                             dove::programs::ca_rotate_command(),
                             dove::programs::replay_command(),
                             dove::programs::doctor_command(),
                             dove::programs::backup_command(),
                             dove::programs::restore_command(),
                             dove::programs::sim_record_command(),
                             dove::programs::sim_explore_command(),
                             dove::programs::sim_replay_muri_command(),
                             dove::programs::sim_replay_openb_command(),
                             dove::programs::sim_replay_philly_command(),
                             dove::programs::sim_replay_swf_command(),
                             dove::programs::sim_replay_log_command()},
                            argc, argv);
}
