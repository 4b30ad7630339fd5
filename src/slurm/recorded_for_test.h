// Output of a real Slurm 22.05.8: two nodes n0 and n1 with four GPUs each (gpu:h200_0:1,…), n1
// drained; jobs: "train" with one GPU, "two" on both nodes, one that is over, one that is ending
// and whose devices Slurm does not name anymore, a placeholder of ours, and one that waits.
#pragma once

namespace dove::slurm {

// GET reservations of slurmrestd
inline constexpr char kRecordedReservations[] = R"json(
{"meta": {"plugin": {"type": "openapi/v0.0.38", "name": "Slurm OpenAPI v0.0.38"}, "Slurm":
{"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}}, "errors": [],
"reservations": [{"flags": ["SPEC_NODES"], "accounts": "", "burst_buffer": "", "core_count": 8,
"core_spec_cnt": 0, "end_time": 1795883611, "features": "", "groups": "", "licenses": "",
"max_start_delay": 0, "name": "course", "node_count": 1, "node_list": "n1", "partition": "",
"start_time": 1795880011, "watts": 4294967294, "tres": "cpu=8", "users": "root"},
{"flags": ["SPEC_NODES"], "accounts": "", "burst_buffer": "", "core_count": 2, "core_spec_cnt": 0,
"end_time": 1795883611, "features": "", "groups": "", "licenses": "", "max_start_delay": 0, "name":
"part", "node_count": 1, "node_list": "n1", "partition": "main", "start_time": 1795880011, "watts":
4294967294, "tres": "cpu=2", "users": "root"}]})json";

// `sinfo --json`
inline constexpr char kRecordedNodes[] = R"json(
{"meta": {"plugin": {"type": "openapi/v0.0.38", "name": "Slurm OpenAPI v0.0.38"}, "Slurm":
{"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}}, "errors": [], "nodes":
[{"architecture": "x86_64", "burstbuffer_network_address": "", "boards": 1, "boot_time":
1795451691, "comment": "", "cores": 8, "cpu_binding": 0, "cpu_load": 227, "extra": "",
"free_memory": 20738, "cpus": 8, "last_busy": 1795453156, "features": "", "active_features": "",
"gres": "gpu:h200_0:1,gpu:h200_1:1,gpu:h200_2:1,gpu:h200_3:1", "gres_drained": "N/A", "gres_used":
"gpu:h200_0:1(IDX:0),gpu:h200_1:1(IDX:1),gpu:h200_2:1(IDX:2),gpu:h200_3:0(IDX:N/A)", "mcs_label":
"", "name": "n0", "next_state_after_reboot": "invalid", "address": "127.0.0.1", "hostname": "host",
"state": "mixed", "state_flags": [], "next_state_after_reboot_flags": [], "operating_system":
"Linux 6.1.0 #1 SMP", "owner": null, "partitions": ["main"], "port":
16810, "real_memory": 16000, "reason": "", "reason_changed_at": 0, "reason_set_by_user": null,
"slurmd_start_time": 1795452157, "sockets": 1, "threads": 1, "temporary_disk": 0, "weight": 1,
"tres": "cpu=8,mem=16000M,billing=8", "slurmd_version": "22.05.8", "alloc_memory": 5220,
"alloc_cpus": 5, "idle_cpus": 3, "tres_used": "cpu=5,mem=5220M", "tres_weighted": 5.0},
{"architecture": "x86_64", "burstbuffer_network_address": "", "boards": 1, "boot_time": 1795451690,
"comment": "", "cores": 8, "cpu_binding": 0, "cpu_load": 277, "extra": "", "free_memory": 20351,
"cpus": 8, "last_busy": 1795453156, "features": "", "active_features": "", "gres":
"gpu:h200_0:1,gpu:h200_1:1,gpu:h200_2:1,gpu:h200_3:1", "gres_drained": "N/A", "gres_used":
"gpu:h200_0:1(IDX:0),gpu:h200_1:0(IDX:N/A),gpu:h200_2:0(IDX:N/A),gpu:h200_3:0(IDX:N/A)",
"mcs_label": "", "name": "n1", "next_state_after_reboot": "invalid", "address": "127.0.0.1",
"hostname": "host", "state": "mixed", "state_flags": ["COMPLETING", "DRAIN"],
"next_state_after_reboot_flags": [], "operating_system":
"Linux 6.1.0 #1 SMP", "owner": null, "partitions": ["main"], "port":
16811, "real_memory": 16000, "reason": "bad fan", "reason_changed_at": 1795453181,
"reason_set_by_user": "root", "slurmd_start_time": 1795452157, "sockets": 1, "threads": 1,
"temporary_disk": 0, "weight": 1, "tres": "cpu=8,mem=16000M,billing=8", "slurmd_version":
"22.05.8", "alloc_memory": 100, "alloc_cpus": 1, "idle_cpus": 7, "tres_used": "cpu=1,mem=100M",
"tres_weighted": 1.0}]}
)json";

// `squeue --json`
inline constexpr char kRecordedJobs[] = R"json(
{"meta": {"plugin": {"type": "openapi/v0.0.38", "name": "Slurm OpenAPI v0.0.38"}, "Slurm":
{"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}}, "errors": [], "jobs":
[{"account": "", "accrue_time": 1795453177, "admin_comment": "", "array_job_id": 0,
"array_task_id": null, "array_max_tasks": 0, "array_task_string": "", "association_id": 0,
"batch_features": "", "batch_flag": true, "batch_host": "n0", "flags": ["JOB_CPUS_SET",
"JOB_WAS_RUNNING", "JOB_MEM_SET"], "burst_buffer": "", "burst_buffer_state": "", "cluster":
"bench", "cluster_features": "", "command": "", "comment": "", "container": "", "contiguous":
false, "core_spec": null, "thread_spec": null, "cores_per_socket": null, "billable_tres": 2.0,
"cpus_per_task": null, "cpu_frequency_minimum": null, "cpu_frequency_maximum": null,
"cpu_frequency_governor": null, "cpus_per_tres": "", "deadline": 0, "delay_boot": 0, "dependency":
"", "derived_exit_code": 0, "eligible_time": 1795453177, "end_time": 1795456777, "excluded_nodes":
"", "exit_code": 0, "features": "", "federation_origin": "", "federation_siblings_active": "",
"federation_siblings_viable": "", "gres_detail":
["gpu:h200_0:1(IDX:0),gpu:h200_1:0(IDX:),gpu:h200_2:0(IDX:),gpu:h200_3:0(IDX:)"], "group_id": 0,
"group_name": "root", "job_id": 320, "job_resources": {"nodes": "n0", "allocated_cores": 2,
"allocated_hosts": 1, "allocated_nodes": [{"sockets": {"0": {"cores": {"0": "allocated", "1":
"allocated"}}}, "nodename": "n0", "cpus_used": 0, "memory_used": 0, "memory_allocated": 1024}]},
"job_state": "RUNNING", "last_sched_evaluation": 1795453177, "licenses": "", "max_cpus": 0,
"max_nodes": 0, "mcs_label": "", "memory_per_tres": "", "name": "train", "nodes": "n0", "nice":
null, "tasks_per_core": null, "tasks_per_node": 0, "tasks_per_socket": null, "tasks_per_board": 0,
"cpus": 2, "node_count": 1, "tasks": 1, "het_job_id": 0, "het_job_id_set": "", "het_job_offset": 0,
"partition": "main", "prefer": "", "memory_per_node": 1024, "memory_per_cpu": null,
"minimum_cpus_per_node": 2, "minimum_tmp_disk_per_node": 0, "preempt_time": 0, "pre_sus_time": 0,
"priority": 4294901747, "profile": null, "qos": "", "reboot": false, "required_nodes": "",
"requeue": true, "resize_time": 0, "restart_cnt": 0, "resv_name": "", "shared": null, "show_flags":
["SHOW_ALL", "SHOW_DETAIL", "SHOW_LOCAL"], "sockets_per_board": 0, "sockets_per_node": null,
"start_time": 1795453177, "state_description": "", "state_reason": "None", "standard_error": "",
"standard_input": "/dev/null", "standard_output": "/dev/null", "submit_time": 1795453177,
"suspend_time": 0, "system_comment": "", "time_limit": 60, "time_minimum": 0, "threads_per_core":
null, "tres_bind": "", "tres_freq": "", "tres_per_job": "", "tres_per_node": "gres:gpu:1",
"tres_per_socket": "", "tres_per_task": "", "tres_req_str": "cpu=2,mem=1G,node=1,billing=2",
"tres_alloc_str": "cpu=2,mem=1G,node=1,billing=2", "user_id": 0, "user_name": "root", "wckey": "",
"current_working_directory": "/home/ada"}, {"account": "", "accrue_time": 1795453177, "admin_comment":
"", "array_job_id": 0, "array_task_id": null, "array_max_tasks": 0, "array_task_string": "",
"association_id": 0, "batch_features": "", "batch_flag": true, "batch_host": "n0", "flags":
["JOB_CPUS_SET", "JOB_WAS_RUNNING", "JOB_MEM_SET"], "burst_buffer": "", "burst_buffer_state": "",
"cluster": "bench", "cluster_features": "", "command": "", "comment": "", "container": "",
"contiguous": false, "core_spec": null, "thread_spec": null, "cores_per_socket": null,
"billable_tres": 2.0, "cpus_per_task": null, "cpu_frequency_minimum": null,
"cpu_frequency_maximum": null, "cpu_frequency_governor": null, "cpus_per_tres": "", "deadline": 0,
"delay_boot": 0, "dependency": "", "derived_exit_code": 0, "eligible_time": 1795453177, "end_time":
1826989177, "excluded_nodes": "", "exit_code": 0, "features": "", "federation_origin": "",
"federation_siblings_active": "", "federation_siblings_viable": "", "gres_detail":
["gpu:h200_0:0(IDX:),gpu:h200_1:1(IDX:1),gpu:h200_2:0(IDX:),gpu:h200_3:0(IDX:)",
"gpu:h200_0:1(IDX:0),gpu:h200_1:0(IDX:),gpu:h200_2:0(IDX:),gpu:h200_3:0(IDX:)"], "group_id": 0,
"group_name": "root", "job_id": 321, "job_resources": {"nodes": "n[0-1]", "allocated_cores": 2,
"allocated_hosts": 2, "allocated_nodes": [{"sockets": {"0": {"cores": {"2": "allocated"}}},
"nodename": "n0", "cpus_used": 0, "memory_used": 0, "memory_allocated": 100}, {"sockets": {"0":
{"cores": {"0": "allocated"}}}, "nodename": "n1", "cpus_used": 0, "memory_used": 0,
"memory_allocated": 100}]}, "job_state": "RUNNING", "last_sched_evaluation": 1795453177,
"licenses": "", "max_cpus": 0, "max_nodes": 0, "mcs_label": "", "memory_per_tres": "", "name":
"two", "nodes": "n[0-1]", "nice": null, "tasks_per_core": null, "tasks_per_node": 0,
"tasks_per_socket": null, "tasks_per_board": 0, "cpus": 2, "node_count": 2, "tasks": 2,
"het_job_id": 0, "het_job_id_set": "", "het_job_offset": 0, "partition": "main", "prefer": "",
"memory_per_node": 100, "memory_per_cpu": null, "minimum_cpus_per_node": 1,
"minimum_tmp_disk_per_node": 0, "preempt_time": 0, "pre_sus_time": 0, "priority": 4294901746,
"profile": null, "qos": "", "reboot": false, "required_nodes": "", "requeue": true, "resize_time":
0, "restart_cnt": 0, "resv_name": "", "shared": null, "show_flags": ["SHOW_ALL", "SHOW_DETAIL",
"SHOW_LOCAL"], "sockets_per_board": 0, "sockets_per_node": null, "start_time": 1795453177,
"state_description": "", "state_reason": "None", "standard_error": "", "standard_input":
"/dev/null", "standard_output": "/dev/null", "submit_time": 1795453177, "suspend_time": 0,
"system_comment": "", "time_limit": null, "time_minimum": 0, "threads_per_core": null, "tres_bind":
"", "tres_freq": "", "tres_per_job": "", "tres_per_node": "gres:gpu:1", "tres_per_socket": "",
"tres_per_task": "", "tres_req_str": "cpu=2,mem=200M,node=2,billing=2", "tres_alloc_str":
"cpu=2,mem=200M,node=2,billing=2", "user_id": 0, "user_name": "root", "wckey": "",
"current_working_directory": "/home/ada"}, {"account": "", "accrue_time": 1795453177, "admin_comment":
"", "array_job_id": 0, "array_task_id": null, "array_max_tasks": 0, "array_task_string": "",
"association_id": 0, "batch_features": "", "batch_flag": true, "batch_host": "n1", "flags":
["TRES_STR_CALC", "JOB_CPUS_SET", "JOB_MEM_SET"], "burst_buffer": "", "burst_buffer_state": "",
"cluster": "bench", "cluster_features": "", "command": "", "comment": "", "container": "",
"contiguous": false, "core_spec": null, "thread_spec": null, "cores_per_socket": null,
"billable_tres": 1.0, "cpus_per_task": null, "cpu_frequency_minimum": null,
"cpu_frequency_maximum": null, "cpu_frequency_governor": null, "cpus_per_tres": "", "deadline": 0,
"delay_boot": 0, "dependency": "", "derived_exit_code": 0, "eligible_time": 1795453177, "end_time":
1795453177, "excluded_nodes": "", "exit_code": 0, "features": "", "federation_origin": "",
"federation_siblings_active": "", "federation_siblings_viable": "", "gres_detail": [], "group_id":
0, "group_name": "root", "job_id": 322, "job_resources": {"nodes": "n1", "allocated_cores": 1,
"allocated_hosts": 1, "allocated_nodes": [{"sockets": {"0": {"cores": {"1": "allocated"}}},
"nodename": "n1", "cpus_used": 0, "memory_used": 0, "memory_allocated": 1}]}, "job_state":
"COMPLETED", "last_sched_evaluation": 1795453177, "licenses": "", "max_cpus": 0, "max_nodes": 0,
"mcs_label": "", "memory_per_tres": "", "name": "over", "nodes": "n1", "nice": null,
"tasks_per_core": null, "tasks_per_node": 0, "tasks_per_socket": null, "tasks_per_board": 0,
"cpus": 1, "node_count": 1, "tasks": 1, "het_job_id": 0, "het_job_id_set": "", "het_job_offset": 0,
"partition": "main", "prefer": "", "memory_per_node": 1, "memory_per_cpu": null,
"minimum_cpus_per_node": 1, "minimum_tmp_disk_per_node": 0, "preempt_time": 0, "pre_sus_time": 0,
"priority": 4294901745, "profile": null, "qos": "", "reboot": false, "required_nodes": "n1",
"requeue": true, "resize_time": 0, "restart_cnt": 0, "resv_name": "", "shared": null, "show_flags":
["SHOW_ALL", "SHOW_DETAIL", "SHOW_LOCAL"], "sockets_per_board": 0, "sockets_per_node": null,
"start_time": 1795453177, "state_description": "", "state_reason": "None", "standard_error": "",
"standard_input": "/dev/null", "standard_output": "/dev/null", "submit_time": 1795453177,
"suspend_time": 0, "system_comment": "", "time_limit": null, "time_minimum": 0, "threads_per_core":
null, "tres_bind": "", "tres_freq": "", "tres_per_job": "", "tres_per_node": "", "tres_per_socket":
"", "tres_per_task": "", "tres_req_str": "cpu=1,mem=1M,node=1,billing=1", "tres_alloc_str":
"cpu=1,mem=1M,node=1,billing=1", "user_id": 0, "user_name": "root", "wckey": "",
"current_working_directory": "/home/ada"}, {"account": "", "accrue_time": 1795453177, "admin_comment":
"", "array_job_id": 0, "array_task_id": null, "array_max_tasks": 0, "array_task_string": "",
"association_id": 0, "batch_features": "", "batch_flag": true, "batch_host": "n1", "flags":
["JOB_CPUS_SET", "JOB_MEM_SET"], "burst_buffer": "", "burst_buffer_state": "", "cluster": "bench",
"cluster_features": "", "command": "", "comment": "", "container": "", "contiguous": false,
"core_spec": null, "thread_spec": null, "cores_per_socket": null, "billable_tres": 1.0,
"cpus_per_task": null, "cpu_frequency_minimum": null, "cpu_frequency_maximum": null,
"cpu_frequency_governor": null, "cpus_per_tres": "", "deadline": 0, "delay_boot": 0, "dependency":
"", "derived_exit_code": 0, "eligible_time": 1795453177, "end_time": 1795453181, "excluded_nodes":
"", "exit_code": 0, "features": "", "federation_origin": "", "federation_siblings_active": "",
"federation_siblings_viable": "", "gres_detail": [], "group_id": 0, "group_name": "root", "job_id":
323, "job_resources": {"nodes": "n1", "allocated_cores": 1, "allocated_hosts": 1,
"allocated_nodes": [{"sockets": {"0": {"cores": {"2": "allocated"}}}, "nodename": "n1",
"cpus_used": 0, "memory_used": 0, "memory_allocated": 10}]}, "job_state": "COMPLETING",
"last_sched_evaluation": 1795453177, "licenses": "", "max_cpus": 0, "max_nodes": 0, "mcs_label":
"", "memory_per_tres": "", "name": "ends", "nodes": "n1", "nice": null, "tasks_per_core": null,
"tasks_per_node": 0, "tasks_per_socket": null, "tasks_per_board": 0, "cpus": 1, "node_count": 1,
"tasks": 1, "het_job_id": 0, "het_job_id_set": "", "het_job_offset": 0, "partition": "main",
"prefer": "", "memory_per_node": 10, "memory_per_cpu": null, "minimum_cpus_per_node": 1,
"minimum_tmp_disk_per_node": 0, "preempt_time": 0, "pre_sus_time": 0, "priority": 4294901744,
"profile": null, "qos": "", "reboot": false, "required_nodes": "n1", "requeue": true,
"resize_time": 0, "restart_cnt": 0, "resv_name": "", "shared": null, "show_flags": ["SHOW_ALL",
"SHOW_DETAIL", "SHOW_LOCAL"], "sockets_per_board": 0, "sockets_per_node": null, "start_time":
1795453177, "state_description": "", "state_reason": "None", "standard_error": "",
"standard_input": "/dev/null", "standard_output": "/dev/null", "submit_time": 1795453177,
"suspend_time": 0, "system_comment": "", "time_limit": null, "time_minimum": 0, "threads_per_core":
null, "tres_bind": "", "tres_freq": "", "tres_per_job": "", "tres_per_node": "gres:gpu:h200_3:1",
"tres_per_socket": "", "tres_per_task": "", "tres_req_str": "cpu=1,mem=10M,node=1,billing=1",
"tres_alloc_str": "cpu=1,mem=10M,node=1,billing=1", "user_id": 0, "user_name": "root", "wckey": "",
"current_working_directory": "/home/ada"}, {"account": "", "accrue_time": 0, "admin_comment":
"dovetail", "array_job_id": 0, "array_task_id": null, "array_max_tasks": 0, "array_task_string":
"", "association_id": 0, "batch_features": "", "batch_flag": false, "batch_host": "n0", "flags":
["JOB_CPUS_SET", "JOB_WAS_RUNNING", "JOB_MEM_SET"], "burst_buffer": "", "burst_buffer_state": "",
"cluster": "bench", "cluster_features": "", "command": "", "comment": "", "container": "",
"contiguous": false, "core_spec": null, "thread_spec": null, "cores_per_socket": null,
"billable_tres": 2.0, "cpus_per_task": null, "cpu_frequency_minimum": null,
"cpu_frequency_maximum": null, "cpu_frequency_governor": null, "cpus_per_tres": "", "deadline": 0,
"delay_boot": 0, "dependency": "", "derived_exit_code": 0, "eligible_time": 1795453178, "end_time":
1795456778, "excluded_nodes": "", "exit_code": 0, "features": "", "federation_origin": "",
"federation_siblings_active": "", "federation_siblings_viable": "", "gres_detail":
["gpu:h200_2:1(IDX:2)"], "group_id": 65534, "group_name": "nogroup", "job_id": 324,
"job_resources": {"nodes": "n0", "allocated_cores": 2, "allocated_hosts": 1, "allocated_nodes":
[{"sockets": {"0": {"cores": {"3": "allocated", "4": "allocated"}}}, "nodename": "n0", "cpus_used":
0, "memory_used": 0, "memory_allocated": 4096}]}, "job_state": "RUNNING", "last_sched_evaluation":
1795453178, "licenses": "", "max_cpus": 0, "max_nodes": 0, "mcs_label": "", "memory_per_tres": "",
"name": "dove-17.2@dove", "nodes": "n0", "nice": null, "tasks_per_core": null, "tasks_per_node": 0,
"tasks_per_socket": null, "tasks_per_board": 0, "cpus": 2, "node_count": 1, "tasks": 1,
"het_job_id": 0, "het_job_id_set": "", "het_job_offset": 0, "partition": "main", "prefer": "",
"memory_per_node": 4096, "memory_per_cpu": null, "minimum_cpus_per_node": 2,
"minimum_tmp_disk_per_node": 0, "preempt_time": 0, "pre_sus_time": 0, "priority": 4294967293,
"profile": null, "qos": "", "reboot": false, "required_nodes": "n0", "requeue": true,
"resize_time": 0, "restart_cnt": 0, "resv_name": "", "shared": null, "show_flags": ["SHOW_ALL",
"SHOW_DETAIL", "SHOW_LOCAL"], "sockets_per_board": 0, "sockets_per_node": null, "start_time":
1795453178, "state_description": "", "state_reason": "None", "standard_error": "",
"standard_input": "", "standard_output": "", "submit_time": 1795453178, "suspend_time": 0,
"system_comment": "", "time_limit": 60, "time_minimum": 0, "threads_per_core": null, "tres_bind":
"", "tres_freq": "", "tres_per_job": "", "tres_per_node": "gres:gpu:h200_2:1", "tres_per_socket":
"", "tres_per_task": "", "tres_req_str": "cpu=2,mem=4G,node=1,billing=2", "tres_alloc_str":
"cpu=2,mem=4G,node=1,billing=2", "user_id": 65534, "user_name": "nobody", "wckey": "",
"current_working_directory": "/home/ada"}, {"account": "", "accrue_time": 1795453178, "admin_comment":
"", "array_job_id": 0, "array_task_id": null, "array_max_tasks": 0, "array_task_string": "",
"association_id": 0, "batch_features": "", "batch_flag": true, "batch_host": "", "flags":
["JOB_CPUS_SET", "JOB_MEM_SET"], "burst_buffer": "", "burst_buffer_state": "", "cluster": "bench",
"cluster_features": "", "command": "", "comment": "", "container": "", "contiguous": false,
"core_spec": null, "thread_spec": null, "cores_per_socket": null, "billable_tres": null,
"cpus_per_task": null, "cpu_frequency_minimum": null, "cpu_frequency_maximum": null,
"cpu_frequency_governor": null, "cpus_per_tres": "", "deadline": 0, "delay_boot": 0, "dependency":
"", "derived_exit_code": 0, "eligible_time": 1795453178, "end_time": 0, "excluded_nodes": "",
"exit_code": 0, "features": "", "federation_origin": "", "federation_siblings_active": "",
"federation_siblings_viable": "", "gres_detail": [], "group_id": 0, "group_name": "root", "job_id":
325, "job_state": "PENDING", "last_sched_evaluation": 1795453179, "licenses": "", "max_cpus": 0,
"max_nodes": 2, "mcs_label": "", "memory_per_tres": "", "name": "waits", "nodes": "", "nice": null,
"tasks_per_core": null, "tasks_per_node": 0, "tasks_per_socket": null, "tasks_per_board": 0,
"cpus": 4, "node_count": 2, "tasks": 2, "het_job_id": 0, "het_job_id_set": "", "het_job_offset": 0,
"partition": "main", "prefer": "", "memory_per_node": 1024, "memory_per_cpu": null,
"minimum_cpus_per_node": 2, "minimum_tmp_disk_per_node": 0, "preempt_time": 0, "pre_sus_time": 0,
"priority": 4294901743, "profile": null, "qos": "", "reboot": false, "required_nodes": "",
"requeue": true, "resize_time": 0, "restart_cnt": 0, "resv_name": "", "shared": null, "show_flags":
["SHOW_ALL", "SHOW_DETAIL", "SHOW_LOCAL"], "sockets_per_board": 0, "sockets_per_node": null,
"start_time": 0, "state_description": "", "state_reason": "Resources", "standard_error": "",
"standard_input": "/dev/null", "standard_output": "/dev/null", "submit_time": 1795453178,
"suspend_time": 0, "system_comment": "", "time_limit": null, "time_minimum": 0, "threads_per_core":
null, "tres_bind": "", "tres_freq": "", "tres_per_job": "", "tres_per_node": "gres:gpu:4",
"tres_per_socket": "", "tres_per_task": "", "tres_req_str": "cpu=4,mem=2G,node=2,billing=4",
"tres_alloc_str": "", "user_id": 0, "user_name": "root", "wckey": "", "current_working_directory":
"/home/ada"}]}
)json";

}  // namespace dove::slurm
