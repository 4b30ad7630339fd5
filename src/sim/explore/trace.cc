#include "sim/explore/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/record.h"

namespace dove::sim {
namespace {

constexpr std::size_t kEntriesMax = 20'000;
constexpr std::size_t kLineBytesMax = 300;
constexpr std::int64_t kDay_us = 86'400'000'000;

// "Launch {...}" of all records of a batch, each with its seq.
void each_record(const store::Batch& batch, const std::function<void(std::string)>& line) {
  std::uint64_t seq = batch.first_seq.value;
  const auto add = [&](std::string_view kind, const nlohmann::json& fields) {
    std::string text = fmt::format("log {} {} {}", seq++, kind, codec::dump_json(fields));
    if (text.size() > kLineBytesMax) text = text.substr(0, kLineBytesMax) + "...";
    line(std::move(text));
  };
  for (const StampedEvent& event : batch.events) {
    add(codec::kind_name(event.event), codec::event_json(event.event));
  }
  for (const Decision& decision : batch.decisions) {
    add(codec::kind_name(decision), codec::decision_json(decision));
  }
}

bool is_about(const std::string& line, std::uint64_t job) {
  if (!line.starts_with("log ")) return true;
  for (const char end : {',', '}'}) {
    if (line.find(fmt::format("\"job\":{}{}", job, end)) != std::string::npos) return true;
  }
  return false;
}

std::string joined(const std::deque<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

void Trace::add(std::int64_t at_us, std::string what) {
  entries_.push_back(Entry{at_us, std::move(what), nullptr});
  if (entries_.size() > kEntriesMax) entries_.pop_front();
}

void Trace::add(std::int64_t at_us, const store::Batch& batch) {
  auto kept = std::make_shared<store::Batch>(batch);
  kept->blobs.clear();
  entries_.push_back(Entry{at_us, "", std::move(kept)});
  if (entries_.size() > kEntriesMax) entries_.pop_front();
}

std::string virtual_time_text(std::int64_t at_us) {
  const std::int64_t s = at_us / 1'000'000;
  return fmt::format("day {} {:02}:{:02}:{:02}.{:06}", at_us / kDay_us, s / 3600 % 24, s / 60 % 60,
                     s % 60, at_us % 1'000'000);
}

std::string Trace::text(std::size_t lines_max) const { return text_about(0, lines_max); }

std::string Trace::text_about(std::uint64_t job, std::size_t lines_max) const {
  std::deque<std::string> lines;
  for (const Entry& entry : entries_) {
    const std::string at = virtual_time_text(entry.at_us);
    const auto add = [&](const std::string& what) {
      if (job != 0 && !is_about(what, job)) return;
      lines.push_back(at + " " + what);
      if (lines.size() > lines_max) lines.pop_front();
    };
    if (entry.batch == nullptr) {
      add(entry.what);
    } else {
      each_record(*entry.batch, add);
    }
  }
  return joined(lines);
}

}  // namespace dove::sim
