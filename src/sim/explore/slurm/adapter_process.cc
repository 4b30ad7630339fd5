#include "sim/explore/slurm/adapter_process.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "wire/secret.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kHour_us = 3'600 * kSecond_us;
constexpr std::int64_t kAnswerWithin_us = 30 * kSecond_us;
constexpr const char* kToken = "explored-adapter-token";
constexpr const char* kAccount = "slurm-1";
constexpr std::uint64_t kMoves = 12;  // one adapter in that many begins on another machine
constexpr std::int32_t kUrgent = 2;   // half of our priorities (clients.cc) are above it

Error unanswered(const char* why) { return {ErrorKind::kUnavailable, "unanswered", why, ""}; }

}  // namespace

AdapterProcess::AdapterProcess(Agenda& agenda, Network& network, Oracle& oracle,
                               SimulatedSlurm& slurm, SimulatedSteps& steps,
                               SimulatedSlurmOptions options)
    : agenda_(agenda),
      slurm_(slurm),
      steps_(steps),
      options_(std::move(options)),
      watch_(agenda, slurm, oracle),
      random_(options_.seed + 1),
      process_(network, host_),
      loop_(process_),
      client_(loop_, "controller", 1) {
  host_.name = "slurm";
}

AdapterProcess::~AdapterProcess() { kill(); }

std::vector<std::vector<StampedEvent>> AdapterProcess::declared() const {
  if (options_.nodes.empty()) return {};
  UserDeclaration account;
  account.name = kAccount;
  account.token_sha256 = wire::sha256_hex(kToken);
  UserDeclaration user;
  user.name = user.linux_user = options_.user;
  Queue urgent;
  urgent.name = "urgent";
  urgent.priority = kUrgent;
  Executor executor;
  executor.name = "slurm";
  executor.service_account = kAccount;
  executor.nodes = options_.nodes;
  executor.gate = options_.modes.gate;
  executor.runs_jobs = options_.modes.runs_jobs;
  if (options_.modes.yields) executor.yields_to = {kOpen_partition};
  // In every other run Slurm is not lent the last two devices of each node.
  if (options_.seed % 2 == 0 && options_.gpus_per_node > 2) {
    Lendable& lent = executor.lendable.emplace_back();
    lent.nodes = options_.nodes;
    for (std::int32_t i = 0; i < options_.gpus_per_node - 2; ++i) lent.devices.push_back(i);
  }
  // In every other two, jobs that start by themselves make room for ours.
  if (options_.seed / 2 % 2 == 0) {
    executor.preempts = {kOpen_partition};
  }
  if (!executor.preempts.empty() || options_.modes.yields) {
    executor.queues = {{kOpen_account, "default"}, {kUrgent_account, urgent.name}};
  }
  return {{{ObjectApplied{Declared(account)}, {}}},
          {{ObjectApplied{Declared(urgent)}, {}}},
          {{ObjectApplied{Declared(user)}, {}}},
          {{ObjectApplied{Declared(executor)}, {}}}};
}

void AdapterProcess::start() {
  if (options_.nodes.empty()) return;
  if (!options_.gate_folder.empty()) {
    auto opened = slurm::GateFolder::open(options_.gate_folder, [] { return Result<uid_t>(0); });
    CHECK(opened.ok(), "the gate's folder");
    folder_ = std::move(opened).value();
  }
  begin_process();
  cycle_in(kSecond_us);
  if (options_.faults_percent > 0) die_later();
}

void AdapterProcess::die_later() {
  agenda_.in(random_.around(6 * kHour_us), [this] {
    if (stopped_) return;
    kill();
    die_later();
  });
}

void AdapterProcess::begin_process() {
  slurm_.set_caller_dead(false);
  if (random_.below(kMoves) == 0) steps_.lose_all();
  slurm::AdapterOptions options;
  options.incarnation = fmt::format("adapter-{}", ++incarnation_);
  wake_.emplace(slurm_, options.cluster, [](const slurm::CommandWanted&) {
    return Result<slurm::CommandEnd>(slurm::CommandEnd{0, "Epilog = /bin/true\n", ""});
  });
  const auto tell =
      [this](const slurm::GateRequest& request,
             const std::vector<slurm::NodeSeen>& nodes) -> Result<std::vector<slurm::GateJob>> {
    TRY_ASSIGN(const std::string body, call("waiting", slurm::write_gate_request(request, nodes)));
    return slurm::read_gate_answer(body);
  };
  keeper_.emplace(slurm_, slurm_, tell, folder_ ? &*folder_ : nullptr, options.cluster,
                  options.incarnation, &*wake_);
  rooms_.emplace(tell, options.incarnation);
  adapter_.emplace(
      slurm_,
      [this](const slurm::SyncRequest& request) -> Result<slurm::SyncAnswer> {
        TRY_ASSIGN(const std::string body, call("sync", slurm::write_request(request)));
        Result<slurm::SyncAnswer> answer = slurm::read_answer(body);
        if (answer.ok() && request.complete && answer->version == request.seen) watch_.is_told();
        return answer;
      },
      [this] { return options_.epoch_us + agenda_.now_us(); }, options, &steps_,
      options_.modes.gate ? &*keeper_ : nullptr, &*rooms_);
}

// What it was doing goes on without effect: nobody hears it, and it hears nothing.
void AdapterProcess::kill() {
  slurm_.set_caller_dead(true);
  if (errand_) {
    while (errand_->answer(unanswered("killed"))) {
    }
    errand_.reset();
    ++questions_;
  }
  cycle_in(random_.around(30 * kSecond_us));
}

void AdapterProcess::cycle_in(std::int64_t delay_us) {
  agenda_.in(delay_us, [this, planned = ++cycles_] {
    if (planned == cycles_) cycle();
  });
}

void AdapterProcess::cycle() {
  if (slurm_.caller_is_dead()) begin_process();
  errand_.emplace();
  look_ = random_.below(2) == 0 ? slurm::Look::kAll : slurm::Look::kJobs;
  watch_.begins();
  go_on(errand_->begin([this] { end_ = adapter_->cycle(look_); }));
}

Result<std::string> AdapterProcess::call(std::string_view path, std::string body) {
  if (slurm_.caller_is_dead()) return unanswered("killed");
  wire::Request request;
  request.method = "POST";
  request.target = fmt::format("/v1/executors/slurm/{}", path);
  request.headers = {{"Authorization", std::string("Bearer ") + kToken}};
  request.body = std::move(body);
  TRY_ASSIGN(const wire::Response answer, errand_->ask(std::move(request)));
  if (answer.status == 200) return answer.body;
  const auto said = nlohmann::json::parse(answer.body, nullptr, false);
  return Error{ErrorKind::kConflict, said.is_object() ? said.value("code", "") : "",
               fmt::format("the controller answers {}", answer.status), ""};
}

void AdapterProcess::go_on(bool asks) {
  if (asks) {
    const std::uint64_t question = ++questions_;
    client_.call(errand_->question(), [this, question](Result<wire::Response> answer) {
      heard(question, std::move(answer));
    });
    agenda_.in(kAnswerWithin_us, [this, question] { heard(question, unanswered("too late")); });
    return;
  }
  errand_.reset();
  watch_.ends(end_, look_);
  if (slurm_.caller_is_dead() || end_.replaced) return kill();
  // Seldom, but where Slurm waits for it: all intervals of an exploration are stretched.
  const std::int64_t pause_us = end_.changed || end_.gate_starts          ? kSecond_us
                                : watch_.ends_soon()                      ? 30 * kSecond_us
                                : end_.gate_waits || !options_.modes.gate ? 60 * kSecond_us
                                                                          : 180 * kSecond_us;
  cycle_in(random_.around(pause_us));
}

void AdapterProcess::heard(std::uint64_t question, Errand::Answer answer) {
  if (question != questions_ || !errand_) return;
  ++questions_;
  go_on(errand_->answer(std::move(answer)));
}

}  // namespace dove::sim
