#include "backends/native/links/task_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "protocol/link_words.h"
#include "wire/secret.h"

namespace dove::backends {
namespace {

constexpr std::chrono::seconds kFirstWord{10};   // of the client
constexpr std::chrono::seconds kAgentComes{20};  // after the order

}  // namespace

TaskLinkPtr TaskLinks::open(const CallPtr& call, JobId job, std::string what, OnFirst on_first) {
  auto link = std::make_shared<TaskLink>();
  link->id = wire::random_token(16);
  link->what = std::move(what);
  link->job = job;
  link->cause = call->cause();
  const std::weak_ptr<TaskLink> weak = link;
  if (on_first) {
    link->on_first = [weak, on_first = std::move(on_first)](std::string_view text) {
      if (const TaskLinkPtr held = weak.lock()) on_first(held, text);
    };
  }
  wire::WebSocketCallbacks callbacks;
  callbacks.on_text = [weak](std::string_view text) {
    const TaskLinkPtr held = weak.lock();
    if (held == nullptr) return;
    if (const auto first = std::exchange(held->on_first, nullptr)) {
      held->timer.cancel();
      return first(text);
    }
    if (held->agent != nullptr) held->agent->send_text(text);
  };
  callbacks.on_bytes = [this, weak](std::string_view bytes) {
    const TaskLinkPtr held = weak.lock();
    if (held == nullptr || held->agent == nullptr) return;
    inputs_[{held->job, held->what}] = now_();
    held->agent->send_bytes(bytes);
  };
  callbacks.on_closed = [this, weak](const Error&) {
    if (const TaskLinkPtr held = weak.lock()) end(held, "the client is gone");
  };
  auto socket =
      wire::accept_web_socket(loop_, call->request, *call->responder, std::move(callbacks));
  if (!socket.ok()) {
    if (socket.error().code == "upgrade_required") {
      call->responder->send(wire::problem(426, socket.error()));
    }
    return nullptr;
  }
  link->client = std::move(socket).value();
  if (link->on_first) {
    link->timer = loop_.after(kFirstWord, [this, weak] {
      if (const TaskLinkPtr held = weak.lock()) end(held, "nothing was asked for in time");
    });
  }
  link->access = access_.hold(call->caller, [this, weak] {
    if (const TaskLinkPtr held = weak.lock()) {
      fail(held, Error{ErrorKind::kUnauthenticated, "access_over",
                       fmt::format("your key was revoked, or you may not call any more, so the {} "
                                   "was ended",
                                   held->what),
                       ""});
    }
  });
  links_[link->id] = link;
  return link;
}

void TaskLinks::order(const TaskLinkPtr& link, NodeId node, std::string_view line) {
  link->node = node;
  const Error unreachable{ErrorKind::kUnavailable, "node_unreachable",
                          "the agent of the task's node is not connected now; try again", ""};
  if (!sessions_.send(node, line)) return fail(link, unreachable);
  link->timer = loop_.after(kAgentComes, [this, unreachable, weak = std::weak_ptr(link)] {
    if (const TaskLinkPtr waiting = weak.lock()) fail(waiting, unreachable);
  });
}

void TaskLinks::join(const CallPtr& call, const std::string& id) {
  const auto found = links_.find(id);
  if (found == links_.end() || found->second->node != call->caller.node ||
      found->second->agent != nullptr) {
    return call->fail(
        Error{ErrorKind::kNotFound, "exec_over", "nobody waits for this any more", ""});
  }
  const TaskLinkPtr link = found->second;
  const std::weak_ptr<TaskLink> weak = link;
  wire::WebSocketCallbacks callbacks;
  callbacks.on_text = [weak](std::string_view text) {
    const TaskLinkPtr held = weak.lock();
    if (held != nullptr && held->client != nullptr) held->client->send_text(text);
  };
  callbacks.on_bytes = [weak](std::string_view bytes) {
    const TaskLinkPtr held = weak.lock();
    if (held != nullptr && held->client != nullptr) held->client->send_bytes(bytes);
  };
  // The client knows it for the regular end if it heard that there was one.
  callbacks.on_closed = [this, weak](const Error&) {
    const TaskLinkPtr held = weak.lock();
    if (held == nullptr) return;
    fail(held, Error{ErrorKind::kUnavailable, "agent_lost",
                     fmt::format("the connection to the task's node broke (its agent was "
                                 "restarted, or cannot be reached), so the {} was ended",
                                 held->what),
                     ""});
  };
  auto socket =
      wire::accept_web_socket(loop_, call->request, *call->responder, std::move(callbacks));
  if (socket.ok()) {
    link->timer.cancel();
    link->agent = std::move(socket).value();
  } else if (socket.error().code == "upgrade_required") {
    call->responder->send(wire::problem(426, socket.error()));
  }
}

void TaskLinks::fail(const TaskLinkPtr& link, const Error& error) {
  if (link->client != nullptr) {
    link->client->send_text(protocol::link_word(
        {.error = protocol::LinkError{wire::status_of(error.kind), error.code, error.message}}));
  }
  end(link, error.code);
}

void TaskLinks::end(const TaskLinkPtr& link, const std::string& why) {
  for (auto* socket : {&link->client, &link->agent}) {
    if (*socket != nullptr) (*socket)->close(why);
    socket->reset();
  }
  link->timer.cancel();
  links_.erase(link->id);
}

Instant TaskLinks::last_input(JobId job, const std::string& what) const {
  const auto found = inputs_.find({job, what});
  return found == inputs_.end() ? Instant{} : found->second;
}

void TaskLinks::forget(JobId job) {
  std::erase_if(inputs_, [job](const auto& entry) { return entry.first.first == job; });
}

void TaskLinks::close_all() {
  const std::map<std::string, TaskLinkPtr> all = links_;
  for (const auto& [id, link] : all) {
    fail(link,
         Error{ErrorKind::kUnavailable, "server_stopping",
               fmt::format("the server is being stopped, so the {} was ended", link->what), ""});
  }
}

void TaskLinks::end_of(NodeId node) {
  const std::map<std::string, TaskLinkPtr> all = links_;
  for (const auto& [id, link] : all) {
    if (link->node != node) continue;
    fail(link,
         Error{ErrorKind::kUnavailable, "node_expelled",
               fmt::format("the task's node was expelled, so the {} was ended", link->what), ""});
  }
}

void TaskLinks::tell(JobId job, const std::string& line) {
  const std::string word = protocol::link_word({.notice = line});
  for (const auto& [id, link] : links_) {
    if (link->job == job && link->what == kCommand && link->client != nullptr) {
      link->client->send_text(word);
    }
  }
}

std::size_t TaskLinks::count(const std::string& what) const {
  return static_cast<std::size_t>(std::count_if(
      links_.begin(), links_.end(), [&](const auto& entry) { return entry.second->what == what; }));
}

std::size_t TaskLinks::count(JobId job, const std::string& what) const {
  return static_cast<std::size_t>(std::count_if(
      links_.begin(), links_.end(),
      [&](const auto& entry) { return entry.second->what == what && entry.second->job == job; }));
}

}  // namespace dove::backends
