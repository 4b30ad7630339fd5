// What the honoured options of sbatch set. Only the option table refers to them.
//
// Each takes an option whose value is there if it must be, changes the draft, and returns an error
// without a place.
#pragma once

#include "base/result.h"
#include "jobfiles/draft.h"

namespace dove::jobfiles {

using Set = Result<void>(Draft& draft, const Option& option);

// Sizes.
Set set_nodes, set_tasks, set_tasks_per_node, set_tasks_per_gpu;
Set set_cpus_per_task, set_cpus_per_gpu;
Set set_memory, set_memory_per_cpu, set_memory_per_gpu;
Set set_gres, set_gpus, set_gpus_per_node, set_gpus_per_task, set_tres_per_task;
Set set_distribution;
// Where and when.
Set set_pool, set_queue, set_project, set_constraint, set_nodes_wanted, set_node_file,
    set_nodes_excluded, set_exclusive, set_switches, set_spread, set_licenses;
Set set_time, set_begin, set_deadline, set_reservation, set_dependency, set_array, set_hold,
    set_nice, set_priority, set_requeue, set_no_requeue, set_kill_on_invalid_dependency;
// What runs.
Set set_job_name, set_output, set_error_path, set_input, set_open_mode, set_chdir, set_export,
    set_export_file, set_signal, set_preempt, set_slice_min, set_executor, set_comment, set_extra,
    set_wckey, set_secret;
// What it runs in.
Set set_container_option, set_container_network, set_container_publish;
// What the command does.
Set set_test_only, set_parsable, set_wait, set_quiet, set_verbose, set_help, set_usage, set_version,
    set_wrap;

}  // namespace dove::jobfiles
