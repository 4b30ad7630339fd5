--[[ The gate of Dovetail in Slurm (JobSubmitPlugins=lua; Slurm 22.05 and newer). docs/operate/slurm.md installs it.

Every job of a gated partition is held by the administrator and marked when it is submitted. The adapter (dove slurm)
hands it to the ledger, and releases it once the ledger has given it nodes and devices. A site with a job_submit.lua of
its own loads this file from there (`local gate = dofile("/etc/slurm/dovetail_gate.lua")`) and calls gate.submit() and
gate.modify() at the end of its two functions. ]]

local GATED = { "*" } -- names of partitions; "*": all
-- The adapter watches this folder (dove slurm --gate); root or SlurmUser owns it, and nobody else writes there.
local FOLDER = "/run/dovetail/gate"

local MARK = "dovetail-gate" -- how the administrator's comment of a waiting job begins
local OURS = "dovetail" -- the comment of what the adapter submits, as root or SlurmUser

-- slurmctld runs as SlurmUser.
local function own_uid()
	local file = io.open("/proc/self/status", "r")
	if not file then return 0 end
	local text = file:read("*a")
	file:close()
	return tonumber(text:match("\nUid:%s+(%d+)")) or 0
end

local SLURM_USER = own_uid()

local function is_administrator(uid)
	return uid == 0 or uid == SLURM_USER
end

local function is_gated(partition)
	for _, name in ipairs(GATED) do
		if name == "*" or name == partition then return true end
	end
	return false
end

-- A job may name several partitions; without any it goes to the default one.
local function any_gated(partitions, part_list)
	if partitions == nil or partitions == "" then
		for name, part in pairs(part_list) do
			if part.flag_default ~= 0 and is_gated(name) then return true end
		end
		return false
	end
	for name in string.gmatch(partitions, "[^,]+") do
		if is_gated(name) then return true end
	end
	return false
end

-- The adapter sees that a file was written. Plain files of a folder that users cannot enter never block.
local function tell(what)
	local file = io.open(FOLDER .. "/" .. what, "w")
	if file then file:close() end
	return file ~= nil
end

--[[ "gres:gpu:h200:2,gres:nic:1": "gres:gpu:2,gres:nic:1" and "h200". Each GPU has a GRES type of its own (h200_3), and
so users name the model alone; the ledger looks for it. ]]
local function without_model(request)
	local model, parts, total, at = nil, {}, 0, nil
	for part in string.gmatch(request, "[^,]+") do
		local head, rest = part:match("^(gres[:/]gpu)(.*)$")
		if not head then head, rest = part:match("^(gpu)(.*)$") end
		if not head or (rest ~= "" and not rest:match("^[:=]")) then
			parts[#parts + 1] = part
		else
			local kind, count = rest:match("^[:=]([^:=]+)[:=](%d+)$")
			if not kind then
				count = rest:match("^[:=](%d+)$")
				if not count and rest ~= "" then
					kind, count = rest:match("^[:=]([^:=]+)$"), "1"
					if not kind then return nil end
				end
			end
			if kind then
				if not kind:match("^[%w_.-]+$") then return nil end -- the mark holds it as one word
				local name = kind:gsub("_%d+$", ""):lower()
				if model and model ~= name then return nil end
				model = name
			end
			total = total + (tonumber(count) or 1)
			if not at then
				parts[#parts + 1] = head
				at = #parts
			end
		end
	end
	if at then parts[at] = parts[at] .. ":" .. total end
	return table.concat(parts, ","), model
end

local REQUESTS = { "tres_per_node", "tres_per_job", "tres_per_socket", "tres_per_task" }

-- Takes the models out of all requests. nil: several are named.
local function take_model(job_desc)
	local model = ""
	for _, field in ipairs(REQUESTS) do
		local request = job_desc[field]
		if request and request:find("gpu", 1, true) then
			local plain, named = without_model(request)
			if not plain or (named and model ~= "" and model ~= named) then return nil end
			if named then
				job_desc[field] = plain
				model = named
			end
		end
	end
	return model
end

-- Whether the number says something: Slurm writes "not said" as one of these.
local function is_said(number)
	return number ~= nil and number ~= slurm.NO_VAL and number ~= slurm.NO_VAL64 and number ~= slurm.NO_VAL16
		and number ~= slurm.NO_VAL8
end

local function gpus_of(request)
	if not request or not request:find("gpu", 1, true) then return 0 end
	return tonumber((without_model(request) or ""):match("gpu:(%d+)")) or 0
end

--[[ Why the ledger can never place the job, and what its user can do; nil: nothing here says so. What only the adapter
can tell stays held, with a comment. ]]
local function refusal(job_desc)
	if is_said(job_desc.het_job_offset) then
		return "heterogeneous jobs (#SBATCH hetjob, \":\") have no place at the gate: submit each part as a job of its own"
	end
	if (job_desc.features or ""):find("*", 1, true) then
		return "--constraint=" .. job_desc.features .. " counts nodes, which the gate cannot do: submit a job for each " ..
			"feature, or ask for one that all nodes have (a|b, [a|b])"
	end
	local nodes = job_desc.min_nodes
	if not is_said(nodes) or nodes < 2 or nodes ~= job_desc.max_nodes then return nil end
	local gpus = gpus_of(job_desc.tres_per_job)
	if gpus % nodes ~= 0 then
		return "--gpus=" .. gpus .. " cannot be divided by --nodes=" .. nodes .. ", and at the gate each node gives as " ..
			"many: ask for --gpus-per-node"
	end
	local tasks = job_desc.num_tasks
	if is_said(tasks) and tasks % nodes ~= 0 and gpus_of(job_desc.tres_per_task) > 0 then
		return "--gpus-per-task with --ntasks=" .. tasks .. " gives each of --nodes=" .. nodes .. " another number of " ..
			"GPUs, which the gate cannot do: make --ntasks a multiple of --nodes, or ask for --gpus-per-node"
	end
	return nil
end

local gate = {}

function gate.submit(job_desc, part_list, submit_uid)
	if is_administrator(submit_uid) and job_desc.comment == OURS then
		-- What the adapter would write a moment later.
		if job_desc.name and job_desc.name:match("^dove%-") then job_desc.admin_comment = OURS .. " " .. job_desc.name end
		return slurm.SUCCESS
	end
	if not any_gated(job_desc.partition, part_list) then return slurm.SUCCESS end
	local model = take_model(job_desc)
	if not model then
		slurm.log_user("%s", "dovetail: one job has GPUs of one model here: name one in --gres, or none")
		return slurm.ERROR
	end
	local why = refusal(job_desc)
	if why then
		slurm.log_user("%s", "dovetail: " .. why)
		return slurm.ERROR
	end
	local mark = MARK
	if job_desc.priority == 0 then mark = mark .. " user_hold" end -- sbatch --hold
	if model ~= "" then mark = mark .. " model=" .. model end
	job_desc.admin_comment = mark
	job_desc.priority = 0
	tell("poke")
	return slurm.SUCCESS
end

-- The ledger was told these, or they decide who holds the job.
local FIXED_TEXTS = { "partition", "features", "req_nodes", "exc_nodes", "tres_per_node", "tres_per_job",
	"tres_per_socket", "tres_per_task", "reservation", "licenses", "admin_comment", "qos", "account", "cluster_features",
	"array_inx", "cpus_per_tres", "mem_per_tres" }
local FIXED_NUMBERS = { "min_nodes", "max_nodes", "num_tasks", "min_cpus", "max_cpus", "cpus_per_task",
	"ntasks_per_node", "pn_min_cpus", "pn_min_memory", "min_mem_per_node", "min_mem_per_cpu", "pn_min_tmp_disk",
	"shared", "time_limit", "nice" }

-- Slurm 22.05 tells the user the code alone.
local function refused(job_rec, what)
	slurm.log_info("%s", "dovetail: " .. what .. " of job " .. job_rec.job_id .. " cannot change at the gate")
	return slurm.ESLURM_ACCESS_DENIED
end

-- A user's hold of a waiting job: to Slurm it is held in any case, and so the adapter marks it.
local function set_user_hold(job_desc, job_rec, holds)
	local words = holds and { "hold.", "release." } or { "release.", "hold." }
	os.remove(FOLDER .. "/" .. words[2] .. job_rec.job_id)
	if not tell(words[1] .. job_rec.job_id) then return refused(job_rec, "the hold, without its adapter,") end
	job_desc.priority = slurm.NO_VAL
	return slurm.SUCCESS
end

function gate.modify(job_desc, job_rec, part_list, modify_uid)
	if is_administrator(modify_uid) then return slurm.SUCCESS end
	local mark = job_rec.admin_comment or ""
	if mark:sub(1, #MARK) ~= MARK then
		local moves = job_desc.partition and any_gated(job_desc.partition, part_list)
		return moves and refused(job_rec, "the partition") or slurm.SUCCESS
	end
	for _, field in ipairs(FIXED_TEXTS) do
		if job_desc[field] ~= nil then return refused(job_rec, field) end
	end
	for _, field in ipairs(FIXED_NUMBERS) do
		if is_said(job_desc[field]) then return refused(job_rec, field) end
	end
	if (job_desc.begin_time or 0) ~= 0 then return refused(job_rec, "begin_time") end
	if not is_said(job_desc.priority) then return slurm.SUCCESS end
	local is_hold = job_desc.priority == 0 or job_desc.priority == slurm.INFINITE -- scontrol hold, release
	if job_rec.priority ~= 0 or not is_hold then return refused(job_rec, "the priority") end
	return set_user_hold(job_desc, job_rec, job_desc.priority == 0)
end

-- A fault in this file opens no gate: Slurm would take a change whose check has failed.
local function closed(run, ...)
	local ok, result = pcall(run, ...)
	if ok then return result end
	slurm.log_error("%s", "dovetail: " .. tostring(result))
	return slurm.ERROR
end

function slurm_job_submit(job_desc, part_list, submit_uid)
	return closed(gate.submit, job_desc, part_list, submit_uid)
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
	return closed(gate.modify, job_desc, job_rec, part_list, modify_uid)
end

return gate
