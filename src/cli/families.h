// The families of commands, each in its own files; the table of commands (cli.cc) joins them.
// Called once at the start of the process.
#pragma once

#include <vector>

#include "cli/command.h"

namespace dove::cli {

std::vector<Command> submit_commands();      // submit
std::vector<Command> job_commands();         // ps, show, why
std::vector<Command> use_commands();         // use
std::vector<Command> usage_commands();       // usage
std::vector<Command> job_action_commands();  // cancel, checkpoint, hold, release, requeue, priority
std::vector<Command> output_commands();      // logs, wait
std::vector<Command> exec_commands();        // exec
std::vector<Command> forward_commands();     // port-forward
std::vector<Command> ssh_commands();         // ssh, ssh-key add, list, remove, gateway
std::vector<Command> app_commands();         // notebook, code, tensorboard, desktop, open
std::vector<Command> declared_app_commands();    // app list, app start
std::vector<Command> session_action_commands();  // stop, start, restart
std::vector<Command> run_commands();             // run
std::vector<Command> attach_commands();          // attach
std::vector<Command> event_commands();           // events, audit, top
std::vector<Command> node_commands();            // nodes, drain, undrain
std::vector<Command>
controller_commands();  // controller list, hand-over, accept-clock, upgrade finish
std::vector<Command> node_maintenance_commands();  // upgrade, node drain, reboot, upgrade, resume
std::vector<Command> declared_commands();          // apply, diff, get, delete
std::vector<Command> key_commands();               // key create, key list, key revoke
std::vector<Command>
people_commands();  // whoami, quota, console, role grant, role revoke, role list
std::vector<Command> notice_commands();    // notices, notices add, notices remove, notices test
std::vector<Command> login_commands();     // login, logout, passwd
std::vector<Command> secret_commands();    // secret set, list, remove, rotate-key
std::vector<Command> token_commands();     // token create, join-token create
std::vector<Command> sbatch_commands();    // sbatch
std::vector<Command> squeue_commands();    // squeue
std::vector<Command> scancel_commands();   // scancel
std::vector<Command> sacct_commands();     // sacct
std::vector<Command> sacctmgr_commands();  // sacctmgr
std::vector<Command> salloc_commands();    // salloc
std::vector<Command> sprio_commands();     // sprio
std::vector<Command> sshare_commands();    // sshare
std::vector<Command> sstat_commands();     // sstat
std::vector<Command> sinfo_commands();     // sinfo
std::vector<Command> scontrol_commands();  // scontrol
std::vector<Command> srun_commands();      // srun, dove-rsh
std::vector<Command> tcloud_commands();    // tcloud submit, ps, cancel, config, init, add, env ls
std::vector<Command> tcloud_file_commands();  // tcloud upload, download, ls, cat

}  // namespace dove::cli
