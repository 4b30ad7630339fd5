// Output of a real Slurm 24.11.5 (data_parser v0.0.42), without fields that we do not read: two
// nodes n0 and n1 with four GPUs each (gpu:h200_0:1,…), n1 drained; jobs: "train" with one GPU,
// "two" on both nodes, one that is over, one that is ending, a placeholder of ours, two that wait.
#pragma once

namespace dove::slurm {

// `scontrol show nodes --json`
inline constexpr char kNewerNodes[] = R"json(
{"nodes": [{"cores": 8, "cpus": 8, "features": [], "active_features": [], "gres":
"gpu:h200_0:1,gpu:h200_1:1,gpu:h200_2:1,gpu:h200_3:1", "gres_used":
"gpu:h200_0:1(IDX:0),gpu:h200_1:1(IDX:1),gpu:h200_2:1(IDX:2),gpu:h200_3:0(IDX:N/A)", "name": "n0",
"address": "127.0.0.1", "hostname": "vm", "state": ["MIXED"], "partitions": ["main"],
"real_memory": 16000, "comment": "", "reason": "", "reason_set_by_user": "", "reservation": "",
"alloc_memory": 5220, "alloc_cpus": 5, "slurmd_start_time": {"set": true, "infinite": false,
"number": 1796034961}, "sockets": 1, "threads": 1, "tres": "cpu=8,mem=16000M,billing=8",
"version": "24.11.5"}, {"cores": 8, "cpus": 8, "features": [], "active_features": [], "gres":
"gpu:h200_0:1,gpu:h200_1:1,gpu:h200_2:1,gpu:h200_3:1", "gres_used":
"gpu:h200_0:1(IDX:0),gpu:h200_1:0(IDX:N/A),gpu:h200_2:0(IDX:N/A),gpu:h200_3:0(IDX:N/A)", "name":
"n1", "address": "127.0.0.1", "hostname": "vm", "state": ["MIXED", "DRAIN", "COMPLETING"],
"partitions": ["main"], "real_memory": 16000, "comment": "", "reason": "bad fan",
"reason_set_by_user": "root", "reservation": "", "alloc_memory": 100, "alloc_cpus": 1,
"slurmd_start_time": {"set": true, "infinite": false, "number": 1796034961}, "sockets": 1,
"threads": 1, "tres": "cpu=8,mem=16000M,billing=8", "version": "24.11.5"}], "meta": {"plugin":
{"type": "", "name": "", "data_parser": "data_parser/v0.0.42", "accounting_storage": ""}, "slurm":
{"version": {"major": "24", "micro": "5", "minor": "11"}, "release": "24.11.5", "cluster":
"bench"}}, "errors": [], "warnings": []}
)json";

// `squeue --states=all --json`
inline constexpr char kNewerJobs[] = R"json(
{"jobs": [{"account": "", "admin_comment": "", "array_job_id": {"set": true, "infinite": false,
"number": 0}, "array_task_id": {"set": false, "infinite": false, "number": 0},
"array_task_string": "", "batch_flag": true, "flags": ["EXACT_CPU_COUNT_REQUESTED",
"JOB_WAS_RUNNING", "EXACT_MEMORY_REQUESTED", "USING_DEFAULT_ACCOUNT", "USING_DEFAULT_PARTITION",
"USING_DEFAULT_QOS", "USING_DEFAULT_WCKEY", "PARTITION_ASSIGNED"], "comment": "", "cpus_per_tres":
"", "end_time": {"set": true, "infinite": false, "number": 1796038564}, "excluded_nodes": "",
"exit_code": {"status": ["SUCCESS"], "return_code": {"set": true, "infinite": false, "number": 0},
"signal": {"id": {"set": false, "infinite": false, "number": 0}, "name": ""}}, "features": "",
"gres_detail": ["gpu:h200_0:1(IDX:0),gpu:h200_1:0(IDX:),gpu:h200_2:0(IDX:),gpu:h200_3:0(IDX:)"],
"het_job_id": {"set": true, "infinite": false, "number": 0}, "job_id": 1, "job_resources":
{"select_type": ["CORE"], "nodes": {"count": 1, "select_type": ["ONE_ROW"], "list": "n0", "whole":
false, "allocation": [{"index": 0, "name": "n0", "cpus": {"count": 2, "used": 0}, "memory":
{"used": 0, "allocated": 1024}, "sockets": [{"index": 0, "cores": [{"index": 0, "status":
["ALLOCATED"]}, {"index": 1, "status": ["ALLOCATED"]}, {"index": 2, "status": ["UNALLOCATED"]},
{"index": 3, "status": ["UNALLOCATED"]}, {"index": 4, "status": ["UNALLOCATED"]}, {"index": 5,
"status": ["UNALLOCATED"]}, {"index": 6, "status": ["UNALLOCATED"]}, {"index": 7, "status":
["UNALLOCATED"]}]}]}]}, "cpus": 2, "threads_per_core": {"set": false, "infinite": false, "number":
0}}, "job_state": ["RUNNING"], "licenses": "", "max_nodes": {"set": true, "infinite": false,
"number": 0}, "memory_per_tres": "", "name": "train", "nodes": "n0", "nice": 0, "tasks_per_node":
{"set": true, "infinite": false, "number": 0}, "cpus": {"set": true, "infinite": false, "number":
2}, "node_count": {"set": true, "infinite": false, "number": 1}, "tasks": {"set": true,
"infinite": false, "number": 1}, "partition": "main", "memory_per_cpu": {"set": false, "infinite":
false, "number": 0}, "memory_per_node": {"set": true, "infinite": false, "number": 1024},
"minimum_cpus_per_node": {"set": true, "infinite": false, "number": 2}, "priority": {"set": true,
"infinite": false, "number": 4294901759}, "qos": "", "required_nodes": "", "requeue": true,
"restart_cnt": 0, "resv_name": "", "shared": [], "start_time": {"set": true, "infinite": false,
"number": 1796034964}, "state_reason": "None", "submit_time": {"set": true, "infinite": false,
"number": 1796034961}, "time_limit": {"set": true, "infinite": false, "number": 60},
"threads_per_core": {"set": false, "infinite": false, "number": 0}, "tres_per_job": "",
"tres_per_node": "gres/gpu:1", "tres_per_socket": "", "tres_per_task": "cpu=2", "tres_alloc_str":
"cpu=2,mem=1G,node=1,billing=2", "user_id": 0, "user_name": "root"}, {"account": "",
"admin_comment": "", "array_job_id": {"set": true, "infinite": false, "number": 0},
"array_task_id": {"set": false, "infinite": false, "number": 0}, "array_task_string": "",
"batch_flag": true, "flags": ["JOB_WAS_RUNNING", "EXACT_MEMORY_REQUESTED",
"USING_DEFAULT_ACCOUNT", "USING_DEFAULT_PARTITION", "USING_DEFAULT_QOS", "USING_DEFAULT_WCKEY",
"PARTITION_ASSIGNED"], "comment": "", "cpus_per_tres": "", "end_time": {"set": true, "infinite":
false, "number": 1827570965}, "excluded_nodes": "", "exit_code": {"status": ["SUCCESS"],
"return_code": {"set": true, "infinite": false, "number": 0}, "signal": {"id": {"set": false,
"infinite": false, "number": 0}, "name": ""}}, "features": "", "gres_detail":
["gpu:h200_0:0(IDX:),gpu:h200_1:1(IDX:1),gpu:h200_2:0(IDX:),gpu:h200_3:0(IDX:)",
"gpu:h200_0:1(IDX:0),gpu:h200_1:0(IDX:),gpu:h200_2:0(IDX:),gpu:h200_3:0(IDX:)"], "het_job_id":
{"set": true, "infinite": false, "number": 0}, "job_id": 2, "job_resources": {"select_type":
["CORE"], "nodes": {"count": 2, "select_type": ["ONE_ROW"], "list": "n[0-1]", "whole": false,
"allocation": [{"index": 0, "name": "n0", "cpus": {"count": 1, "used": 0}, "memory": {"used": 0,
"allocated": 100}, "sockets": [{"index": 0, "cores": [{"index": 0, "status": ["UNALLOCATED"]},
{"index": 1, "status": ["UNALLOCATED"]}, {"index": 2, "status": ["ALLOCATED"]}, {"index": 3,
"status": ["UNALLOCATED"]}, {"index": 4, "status": ["UNALLOCATED"]}, {"index": 5, "status":
["UNALLOCATED"]}, {"index": 6, "status": ["UNALLOCATED"]}, {"index": 7, "status":
["UNALLOCATED"]}]}]}, {"index": 1, "name": "n1", "cpus": {"count": 1, "used": 0}, "memory":
{"used": 0, "allocated": 100}, "sockets": [{"index": 0, "cores": [{"index": 0, "status":
["ALLOCATED"]}, {"index": 1, "status": ["UNALLOCATED"]}, {"index": 2, "status": ["UNALLOCATED"]},
{"index": 3, "status": ["UNALLOCATED"]}, {"index": 4, "status": ["UNALLOCATED"]}, {"index": 5,
"status": ["UNALLOCATED"]}, {"index": 6, "status": ["UNALLOCATED"]}, {"index": 7, "status":
["UNALLOCATED"]}]}]}]}, "cpus": 2, "threads_per_core": {"set": false, "infinite": false, "number":
0}}, "job_state": ["RUNNING"], "licenses": "", "max_nodes": {"set": true, "infinite": false,
"number": 0}, "memory_per_tres": "", "name": "two", "nodes": "n[0-1]", "nice": 0,
"tasks_per_node": {"set": true, "infinite": false, "number": 0}, "cpus": {"set": true, "infinite":
false, "number": 2}, "node_count": {"set": true, "infinite": false, "number": 2}, "tasks": {"set":
true, "infinite": false, "number": 2}, "partition": "main", "memory_per_cpu": {"set": false,
"infinite": false, "number": 0}, "memory_per_node": {"set": true, "infinite": false, "number":
100}, "minimum_cpus_per_node": {"set": true, "infinite": false, "number": 1}, "priority": {"set":
true, "infinite": false, "number": 4294901758}, "qos": "", "required_nodes": "", "requeue": true,
"restart_cnt": 0, "resv_name": "", "shared": [], "start_time": {"set": true, "infinite": false,
"number": 1796034965}, "state_reason": "None", "submit_time": {"set": true, "infinite": false,
"number": 1796034964}, "time_limit": {"set": false, "infinite": true, "number": 0},
"threads_per_core": {"set": false, "infinite": false, "number": 0}, "tres_per_job": "",
"tres_per_node": "gres/gpu:1", "tres_per_socket": "", "tres_per_task": "", "tres_alloc_str":
"cpu=2,mem=200M,node=2,billing=2", "user_id": 0, "user_name": "root"}, {"account": "",
"admin_comment": "", "array_job_id": {"set": true, "infinite": false, "number": 0},
"array_task_id": {"set": false, "infinite": false, "number": 0}, "array_task_string": "",
"batch_flag": true, "flags": ["SKIP_TRES_STRING_ACCOUNTING", "EXACT_MEMORY_REQUESTED",
"USING_DEFAULT_ACCOUNT", "USING_DEFAULT_PARTITION", "USING_DEFAULT_QOS", "USING_DEFAULT_WCKEY",
"PARTITION_ASSIGNED"], "comment": "", "cpus_per_tres": "", "end_time": {"set": true, "infinite":
false, "number": 1796034966}, "excluded_nodes": "", "exit_code": {"status": ["SUCCESS"],
"return_code": {"set": true, "infinite": false, "number": 0}, "signal": {"id": {"set": false,
"infinite": false, "number": 0}, "name": ""}}, "features": "", "gres_detail": [], "het_job_id":
{"set": true, "infinite": false, "number": 0}, "job_id": 3, "job_resources": {"select_type":
["CORE"], "nodes": {"count": 1, "select_type": ["ONE_ROW"], "list": "n1", "whole": false,
"allocation": [{"index": 0, "name": "n1", "cpus": {"count": 1, "used": 0}, "memory": {"used": 0,
"allocated": 1}, "sockets": [{"index": 0, "cores": [{"index": 0, "status": ["UNALLOCATED"]},
{"index": 1, "status": ["ALLOCATED"]}, {"index": 2, "status": ["UNALLOCATED"]}, {"index": 3,
"status": ["UNALLOCATED"]}, {"index": 4, "status": ["UNALLOCATED"]}, {"index": 5, "status":
["UNALLOCATED"]}, {"index": 6, "status": ["UNALLOCATED"]}, {"index": 7, "status":
["UNALLOCATED"]}]}]}]}, "cpus": 1, "threads_per_core": {"set": false, "infinite": false, "number":
0}}, "job_state": ["COMPLETED"], "licenses": "", "max_nodes": {"set": true, "infinite": false,
"number": 0}, "memory_per_tres": "", "name": "over", "nodes": "n1", "nice": 0, "tasks_per_node":
{"set": true, "infinite": false, "number": 0}, "cpus": {"set": true, "infinite": false, "number":
1}, "node_count": {"set": true, "infinite": false, "number": 1}, "tasks": {"set": true,
"infinite": false, "number": 1}, "partition": "main", "memory_per_cpu": {"set": false, "infinite":
false, "number": 0}, "memory_per_node": {"set": true, "infinite": false, "number": 1},
"minimum_cpus_per_node": {"set": true, "infinite": false, "number": 1}, "priority": {"set": true,
"infinite": false, "number": 4294901757}, "qos": "", "required_nodes": "n1", "requeue": true,
"restart_cnt": 0, "resv_name": "", "shared": [], "start_time": {"set": true, "infinite": false,
"number": 1796034966}, "state_reason": "None", "submit_time": {"set": true, "infinite": false,
"number": 1796034965}, "time_limit": {"set": false, "infinite": true, "number": 0},
"threads_per_core": {"set": false, "infinite": false, "number": 0}, "tres_per_job": "",
"tres_per_node": "", "tres_per_socket": "", "tres_per_task": "", "tres_alloc_str":
"cpu=1,mem=1M,node=1,billing=1", "user_id": 0, "user_name": "root"}, {"account": "",
"admin_comment": "", "array_job_id": {"set": true, "infinite": false, "number": 0},
"array_task_id": {"set": false, "infinite": false, "number": 0}, "array_task_string": "",
"batch_flag": true, "flags": ["EXACT_MEMORY_REQUESTED", "USING_DEFAULT_ACCOUNT",
"USING_DEFAULT_PARTITION", "USING_DEFAULT_QOS", "USING_DEFAULT_WCKEY", "PARTITION_ASSIGNED"],
"comment": "", "cpus_per_tres": "", "end_time": {"set": true, "infinite": false, "number":
1796034969}, "excluded_nodes": "", "exit_code": {"status": ["SUCCESS"], "return_code": {"set":
true, "infinite": false, "number": 0}, "signal": {"id": {"set": false, "infinite": false,
"number": 0}, "name": ""}}, "features": "", "gres_detail": [], "het_job_id": {"set": true,
"infinite": false, "number": 0}, "job_id": 4, "job_resources": {"select_type": ["CORE"], "nodes":
{"count": 1, "select_type": ["ONE_ROW"], "list": "n1", "whole": false, "allocation": [{"index": 0,
"name": "n1", "cpus": {"count": 1, "used": 0}, "memory": {"used": 0, "allocated": 10}, "sockets":
[{"index": 0, "cores": [{"index": 0, "status": ["UNALLOCATED"]}, {"index": 1, "status":
["UNALLOCATED"]}, {"index": 2, "status": ["ALLOCATED"]}, {"index": 3, "status": ["UNALLOCATED"]},
{"index": 4, "status": ["UNALLOCATED"]}, {"index": 5, "status": ["UNALLOCATED"]}, {"index": 6,
"status": ["UNALLOCATED"]}, {"index": 7, "status": ["UNALLOCATED"]}]}]}]}, "cpus": 1,
"threads_per_core": {"set": false, "infinite": false, "number": 0}}, "job_state": ["CANCELLED",
"COMPLETING"], "licenses": "", "max_nodes": {"set": true, "infinite": false, "number": 0},
"memory_per_tres": "", "name": "ends", "nodes": "n1", "nice": 0, "tasks_per_node": {"set": true,
"infinite": false, "number": 0}, "cpus": {"set": true, "infinite": false, "number": 1},
"node_count": {"set": true, "infinite": false, "number": 1}, "tasks": {"set": true, "infinite":
false, "number": 1}, "partition": "main", "memory_per_cpu": {"set": false, "infinite": false,
"number": 0}, "memory_per_node": {"set": true, "infinite": false, "number": 10},
"minimum_cpus_per_node": {"set": true, "infinite": false, "number": 1}, "priority": {"set": true,
"infinite": false, "number": 4294901756}, "qos": "", "required_nodes": "n1", "requeue": true,
"restart_cnt": 0, "resv_name": "", "shared": [], "start_time": {"set": true, "infinite": false,
"number": 1796034966}, "state_reason": "None", "submit_time": {"set": true, "infinite": false,
"number": 1796034965}, "time_limit": {"set": false, "infinite": true, "number": 0},
"threads_per_core": {"set": false, "infinite": false, "number": 0}, "tres_per_job": "",
"tres_per_node": "gres/gpu:h200_3:1", "tres_per_socket": "", "tres_per_task": "",
"tres_alloc_str": "cpu=1,mem=10M,node=1,billing=1", "user_id": 0, "user_name": "root"},
{"account": "", "admin_comment": "dovetail dove-17.2@dove", "array_job_id": {"set": true,
"infinite": false, "number": 0}, "array_task_id": {"set": false, "infinite": false, "number": 0},
"array_task_string": "", "batch_flag": false, "flags": ["EXACT_TASK_COUNT_REQUESTED",
"EXACT_CPU_COUNT_REQUESTED", "JOB_WAS_RUNNING", "EXACT_MEMORY_REQUESTED", "USING_DEFAULT_ACCOUNT",
"USING_DEFAULT_PARTITION", "USING_DEFAULT_QOS", "USING_DEFAULT_WCKEY", "PARTITION_ASSIGNED"],
"comment": "dovetail", "cpus_per_tres": "", "end_time": {"set": true, "infinite": false, "number":
1796038568}, "excluded_nodes": "", "exit_code": {"status": ["SUCCESS"], "return_code": {"set":
true, "infinite": false, "number": 0}, "signal": {"id": {"set": false, "infinite": false,
"number": 0}, "name": ""}}, "features": "", "gres_detail": ["gpu:h200_2:1(IDX:2)"], "het_job_id":
{"set": true, "infinite": false, "number": 0}, "job_id": 5, "job_resources": {"select_type":
["CORE"], "nodes": {"count": 1, "select_type": ["ONE_ROW"], "list": "n0", "whole": false,
"allocation": [{"index": 0, "name": "n0", "cpus": {"count": 2, "used": 0}, "memory": {"used": 0,
"allocated": 4096}, "sockets": [{"index": 0, "cores": [{"index": 0, "status": ["UNALLOCATED"]},
{"index": 1, "status": ["UNALLOCATED"]}, {"index": 2, "status": ["UNALLOCATED"]}, {"index": 3,
"status": ["ALLOCATED"]}, {"index": 4, "status": ["ALLOCATED"]}, {"index": 5, "status":
["UNALLOCATED"]}, {"index": 6, "status": ["UNALLOCATED"]}, {"index": 7, "status":
["UNALLOCATED"]}]}]}]}, "cpus": 2, "threads_per_core": {"set": false, "infinite": false, "number":
0}}, "job_state": ["RUNNING"], "licenses": "", "max_nodes": {"set": true, "infinite": false,
"number": 0}, "memory_per_tres": "", "name": "dove-17.2@dove", "nodes": "n0", "nice": 0,
"tasks_per_node": {"set": true, "infinite": false, "number": 0}, "cpus": {"set": true, "infinite":
false, "number": 2}, "node_count": {"set": true, "infinite": false, "number": 1}, "tasks": {"set":
true, "infinite": false, "number": 1}, "partition": "main", "memory_per_cpu": {"set": false,
"infinite": false, "number": 0}, "memory_per_node": {"set": true, "infinite": false, "number":
4096}, "minimum_cpus_per_node": {"set": true, "infinite": false, "number": 2}, "priority": {"set":
true, "infinite": false, "number": 4294967293}, "qos": "", "required_nodes": "n0", "requeue":
true, "restart_cnt": 0, "resv_name": "", "shared": [], "start_time": {"set": true, "infinite":
false, "number": 1796034968}, "state_reason": "None", "submit_time": {"set": true, "infinite":
false, "number": 1796034966}, "time_limit": {"set": true, "infinite": false, "number": 60},
"threads_per_core": {"set": false, "infinite": false, "number": 0}, "tres_per_job": "",
"tres_per_node": "gres/gpu:h200_2:1", "tres_per_socket": "", "tres_per_task": "cpu=2",
"tres_alloc_str": "cpu=2,mem=4G,node=1,billing=2", "user_id": 65534, "user_name": "nobody"},
{"account": "", "admin_comment": "", "array_job_id": {"set": true, "infinite": false, "number":
0}, "array_task_id": {"set": false, "infinite": false, "number": 0}, "array_task_string": "",
"batch_flag": true, "flags": ["EXACT_TASK_COUNT_REQUESTED", "EXACT_CPU_COUNT_REQUESTED",
"EXACT_MEMORY_REQUESTED", "USING_DEFAULT_ACCOUNT", "USING_DEFAULT_PARTITION", "USING_DEFAULT_QOS",
"USING_DEFAULT_WCKEY", "PARTITION_ASSIGNED"], "comment": "", "cpus_per_tres": "", "end_time":
{"set": true, "infinite": false, "number": 0}, "excluded_nodes": "", "exit_code": {"status":
["SUCCESS"], "return_code": {"set": true, "infinite": false, "number": 0}, "signal": {"id":
{"set": false, "infinite": false, "number": 0}, "name": ""}}, "features": "", "gres_detail": [],
"het_job_id": {"set": true, "infinite": false, "number": 0}, "job_id": 6, "job_resources": null,
"job_state": ["PENDING"], "licenses": "", "max_nodes": {"set": true, "infinite": false, "number":
2}, "memory_per_tres": "", "name": "waits", "nodes": "", "nice": 0, "tasks_per_node": {"set":
true, "infinite": false, "number": 0}, "cpus": {"set": true, "infinite": false, "number": 4},
"node_count": {"set": true, "infinite": false, "number": 2}, "tasks": {"set": true, "infinite":
false, "number": 2}, "partition": "main", "memory_per_cpu": {"set": false, "infinite": false,
"number": 0}, "memory_per_node": {"set": true, "infinite": false, "number": 1024},
"minimum_cpus_per_node": {"set": true, "infinite": false, "number": 2}, "priority": {"set": true,
"infinite": false, "number": 4294901754}, "qos": "", "required_nodes": "", "requeue": true,
"restart_cnt": 0, "resv_name": "", "shared": [], "start_time": {"set": true, "infinite": false,
"number": 0}, "state_reason": "Resources", "submit_time": {"set": true, "infinite": false,
"number": 1796034968}, "time_limit": {"set": false, "infinite": true, "number": 0},
"threads_per_core": {"set": false, "infinite": false, "number": 0}, "tres_per_job": "",
"tres_per_node": "gres/gpu:4", "tres_per_socket": "", "tres_per_task": "cpu=2", "tres_alloc_str":
"", "user_id": 0, "user_name": "root"}, {"account": "", "admin_comment": "", "array_job_id":
{"set": true, "infinite": false, "number": 7}, "array_task_id": {"set": false, "infinite": false,
"number": 0}, "array_task_string": "1-3%1", "batch_flag": true, "flags":
["EXACT_TASK_COUNT_REQUESTED", "EXACT_MEMORY_REQUESTED", "USING_DEFAULT_ACCOUNT",
"USING_DEFAULT_PARTITION", "USING_DEFAULT_QOS", "USING_DEFAULT_WCKEY", "PARTITION_ASSIGNED"],
"comment": "", "cpus_per_tres": "", "end_time": {"set": true, "infinite": false, "number": 0},
"excluded_nodes": "", "exit_code": {"status": ["SUCCESS"], "return_code": {"set": true,
"infinite": false, "number": 0}, "signal": {"id": {"set": false, "infinite": false, "number": 0},
"name": ""}}, "features": "", "gres_detail": [], "het_job_id": {"set": true, "infinite": false,
"number": 0}, "job_id": 7, "job_resources": null, "job_state": ["PENDING"], "licenses": "",
"max_nodes": {"set": true, "infinite": false, "number": 1}, "memory_per_tres": "", "name":
"array", "nodes": "", "nice": 0, "tasks_per_node": {"set": true, "infinite": false, "number": 0},
"cpus": {"set": true, "infinite": false, "number": 1}, "node_count": {"set": true, "infinite":
false, "number": 1}, "tasks": {"set": true, "infinite": false, "number": 1}, "partition": "main",
"memory_per_cpu": {"set": false, "infinite": false, "number": 0}, "memory_per_node": {"set": true,
"infinite": false, "number": 10}, "minimum_cpus_per_node": {"set": true, "infinite": false,
"number": 1}, "priority": {"set": true, "infinite": false, "number": 4294901753}, "qos": "",
"required_nodes": "", "requeue": true, "restart_cnt": 0, "resv_name": "", "shared": [],
"start_time": {"set": true, "infinite": false, "number": 0}, "state_reason": "Priority",
"submit_time": {"set": true, "infinite": false, "number": 1796034968}, "time_limit": {"set":
false, "infinite": true, "number": 0}, "threads_per_core": {"set": false, "infinite": false,
"number": 0}, "tres_per_job": "gres/gpu:1", "tres_per_node": "gres/gpu:1", "tres_per_socket": "",
"tres_per_task": "", "tres_alloc_str": "", "user_id": 0, "user_name": "root"}], "meta": {"plugin":
{"type": "", "name": "", "data_parser": "data_parser/v0.0.42", "accounting_storage": ""}, "slurm":
{"version": {"major": "24", "micro": "5", "minor": "11"}, "release": "24.11.5", "cluster":
"bench"}}, "errors": [], "warnings": []}
)json";

// `sinfo --json`: groups of nodes
inline constexpr char kNewerGroups[] = R"json(
{"sinfo": [{"node": {"state": ["MIXED", "DRAIN", "COMPLETING"]}, "nodes": {"allocated": 1, "idle":
0, "other": 0, "total": 1, "hostnames": [], "addresses": [], "nodes": ["n1"]}, "cpus":
{"allocated": 1, "idle": 0, "other": 7, "total": 8, "minimum": 8, "maximum": 8, "load":
{"minimum": 1473, "maximum": 1473}, "per_node": {"max": {"set": false, "infinite": true, "number":
0}}}, "partition": {"name": "main"}}], "meta": {"plugin": {"type": "", "name": "", "data_parser":
"data_parser/v0.0.42", "accounting_storage": ""}, "slurm": {"version": {"major": "24", "micro":
"5", "minor": "11"}, "release": "24.11.5", "cluster": "bench"}}, "errors": [], "warnings": []}
)json";

// GET reservations of slurmrestd, and `scontrol show reservation --json`
inline constexpr char kNewerReservations[] = R"json(
{"reservations": [{"accounts": "", "core_count": 8, "core_specializations": [], "end_time":
{"set": true, "infinite": false, "number": 1796042169}, "features": "", "flags": ["IGNORE_JOBS",
"SPEC_NODES"], "groups": "", "name": "course", "node_count": 1, "node_list": "n1", "partition":
"", "start_time": {"set": true, "infinite": false, "number": 1796038569}, "tres": "cpu=8",
"users": "root"}, {"accounts": "", "core_count": 2, "core_specializations": [{"node": "n0",
"core": "5-6"}], "end_time": {"set": true, "infinite": false, "number": 1796049369}, "features":
"", "flags": ["IGNORE_JOBS"], "groups": "", "name": "part", "node_count": 1, "node_list": "n0",
"partition": "main", "start_time": {"set": true, "infinite": false, "number": 1796045769}, "tres":
"cpu=2", "users": "root"}], "errors": [], "warnings": []}
)json";

}  // namespace dove::slurm
