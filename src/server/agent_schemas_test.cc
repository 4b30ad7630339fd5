// What api/openapi.yaml says of the agents' messages is what src/protocol writes and reads: the
// same fields, and those without which a message means nothing are required.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "protocol/orders_fields.h"
#include "protocol/reports_fields.h"
#include "protocol/session_fields.h"
#include "server/openapi.h"

namespace dove::server {
namespace {

using Names = std::set<std::string>;

// Stands where a Writer or a Reader does, and notes what the fields are called.
template <bool reads>
class Namer {
 public:
  template <class T>
  using Of = T;
  static constexpr bool kReads = reads;

  template <class T>
  void must(const char* name, const T&) {
    known.insert(name);
    needed.insert(name);
  }
  template <class T>
  void may(const char* name, const T&) {
    known.insert(name);
  }
  void text(const char* name, const std::string&, std::size_t) { known.insert(name); }
  void cut(const char* name, const std::string&, std::size_t) { known.insert(name); }
  template <class T>
  void clamped(const char* name, const T&, std::int64_t, std::int64_t) {
    known.insert(name);
  }
  template <class T>
  void list(const char* name, const std::vector<T>&, std::size_t) {
    known.insert(name);
  }
  void lines(const char* name, const std::vector<std::string>&) { known.insert(name); }
  template <class Fields>
  void nested(const char* name, const Fields& with) {
    must(name, 0);
    with(inner.emplace_back());
  }
  void fail(const char* name, const std::string&) { needed.insert(name); }  // it is missing

  Names known;
  Names needed;
  std::vector<Namer> inner;
};

template <bool reads = true, class T>
Namer<reads> names_of(T message) {
  Namer<reads> namer;
  using protocol::fields;
  fields(namer, message);
  return namer;
}

// The lines of a schema that stands by itself, without its own.
std::vector<std::string> lines_of(const std::string& schema) {
  const std::string text(openapi_text());
  const std::size_t at = text.find("\n    " + schema + ":\n", text.find("\n  schemas:\n"));
  EXPECT_NE(at, std::string::npos) << "the document has no schema " << schema;
  std::vector<std::string> lines;
  if (at == std::string::npos) return lines;
  std::istringstream rest(text.substr(text.find('\n', at + 1) + 1));
  for (std::string line; std::getline(rest, line) && line.starts_with("      ");) {
    lines.push_back(line);
  }
  return lines;
}

std::string name_in(const std::string& line) {
  return line.substr(8, line.find_first_of(":", 8) - 8);
}

// Its properties, as they stand below one another; `<<: *finding` are those of Finding.
Names properties_of(const std::string& schema) {
  Names names;
  bool are_properties = false;
  for (const std::string& line : lines_of(schema)) {
    if (line[6] != ' ') are_properties = line.starts_with("      properties:");
    if (!are_properties || line[6] != ' ' || line[8] == ' ') continue;
    if (line.find("<<: *finding") != std::string::npos) {
      names.merge(properties_of("Finding"));
    } else {
      names.insert(name_in(line));
    }
  }
  return names;
}

Names required_by(const std::string& schema) {
  constexpr std::string_view kBegin = "      required: [";
  for (const std::string& line : lines_of(schema)) {
    if (!line.starts_with(kBegin)) continue;
    std::string list = line.substr(kBegin.size(), line.find(']') - kBegin.size());
    std::replace(list.begin(), list.end(), ',', ' ');
    std::istringstream words(list);
    return Names(std::istream_iterator<std::string>(words), {});
  }
  return {};
}

bool is_closed(const std::string& schema) {
  const auto lines = lines_of(schema);
  return std::find(lines.begin(), lines.end(), "      additionalProperties: false") != lines.end();
}

// The document says of `schema` what is there of the message, and of nothing else.
void expect_described(const std::string& schema, const Names& known, const Names& needed) {
  EXPECT_EQ(properties_of(schema), known) << schema;
  const Names required = required_by(schema);
  for (const std::string& name : needed) {
    EXPECT_TRUE(required.contains(name)) << schema << " requires " << name;
  }
  for (const std::string& name : required) {
    EXPECT_TRUE(known.contains(name)) << schema << " requires " << name;
  }
  EXPECT_TRUE(is_closed(schema)) << schema;
}

template <bool reads>
void expect_described(const std::string& schema, const Namer<reads>& names) {
  expect_described(schema, names.known, names.needed);
}

// A schema of reports, with the words that tell its kinds. The last of them is no event.
template <std::size_t I = 0>
void expect_reports_described(const std::vector<std::string>& schemas) {
  static_assert(
      std::is_same_v<
          std::variant_alternative_t<std::variant_size_v<protocol::Report> - 1, protocol::Report>,
          protocol::StepTaskOver>);
  if constexpr (I + 1 < std::variant_size_v<protocol::Report>) {
    const std::string& schema = schemas.at(I);
    // A finding is read as monitors send it, so that its fields are listed for writing alone.
    auto names = names_of<false>(std::variant_alternative_t<I, protocol::Report>());
    const auto read = [&] {
      if constexpr (!std::is_same_v<std::variant_alternative_t<I, protocol::Report>,
                                    protocol::FindingSaid>) {
        names.known.merge(names_of(std::variant_alternative_t<I, protocol::Report>()).known);
      }
    };
    read();
    names.must("kind", 0);
    expect_described(schema, names);
    const std::string word(protocol::kReportKinds[I]);
    const auto lines = lines_of(schema);
    EXPECT_TRUE(
        std::ranges::any_of(lines,
                            [&](const std::string& line) {
                              return line == "        kind: {const: " + word + "}" ||
                                     (line.starts_with("        kind: {type: string, enum: [") &&
                                      (line.find("[" + word + ",") != std::string::npos ||
                                       line.find(" " + word + "]") != std::string::npos));
                            }))
        << schema << " is of kind " << word;
    const auto all = lines_of("AgentEvent");
    EXPECT_TRUE(std::ranges::any_of(all, [&](const std::string& line) {
      return line.find("/" + schema + "\"") != std::string::npos;
    })) << schema;
    expect_reports_described<I + 1>(schemas);
  }
}

TEST(AgentSchemas, AreWhatAgentsReport) {
  // In the order of Report's types.
  expect_reports_described({"AgentStage", "AgentStage", "AgentTaskEnded", "AgentEnded",
                            "AgentRefusal", "AgentRefusal", "AgentStepEnded",
                            "AgentPreflightFailed", "AgentProgress", "AgentShares", "AgentWarnings",
                            "AgentFinding", "AgentTested", "AgentRemedyEnded", "AgentUse"});
  expect_described("AgentStepExit", names_of(protocol::StepTaskOver()));
  expect_described("AgentRankProgress", names_of(protocol::RankProgress()));
  expect_described("AgentDeviceUse", names_of(protocol::DeviceUse()));
}

TEST(AgentSchemas, AreHowSessionsBeginAndGoOn) {
  const auto join = names_of(protocol::Join());
  const auto sync = names_of(protocol::Sync());
  Names known = join.known;
  known.insert(sync.known.begin(), sync.known.end());
  Names needed;
  std::ranges::set_intersection(join.needed, sync.needed, std::inserter(needed, needed.end()));
  EXPECT_TRUE(needed.contains("boot_id"));
  expect_described("AgentHello", known, needed);
  expect_described("AgentContainers", names_of(protocol::ContainerOffer()));
  expect_described("AgentOffers", names_of(protocol::Offer()));
  expect_described("AgentPlacement", names_of(protocol::ActivePlacement()));
  expect_described("AgentStep", names_of(protocol::StepKey()));
  expect_described("AgentAttempt", names_of(protocol::AttemptKey()));
  expect_described("AgentJoined", names_of(protocol::JoinAnswer()));
  protocol::SyncAnswer answer;
  expect_described("AgentSession", names_of(answer));
  answer.ticket = "t";
  answer.sync_after_us = 1;
  expect_described("AgentTicket", names_of<false>(answer));
  expect_described("AgentReport", names_of(protocol::ReportMessage()));
  expect_described("AgentReported", names_of(protocol::ReportAnswer()));
}

TEST(AgentSchemas, AreWhatAgentsAreOrdered) {
  const auto order = [](protocol::OrderKind kind) {
    protocol::Order one;
    one.kind = kind;
    one.after_ms = 1;
    return names_of<false>(one);
  };
  expect_described("AgentStart", order(protocol::OrderKind::kStart));
  expect_described("AgentStop", order(protocol::OrderKind::kStop));
  expect_described("AgentTest", order(protocol::OrderKind::kTest));
  expect_described("AgentRemedy", order(protocol::OrderKind::kRemedy));
  auto launch = names_of(protocol::Launch());
  const auto head = order(protocol::OrderKind::kLaunch);
  launch.known.insert(head.known.begin(), head.known.end());
  launch.needed.insert(head.needed.begin(), head.needed.end());
  expect_described("AgentLaunch", launch);
  ASSERT_EQ(launch.inner.size(), 1U);
  expect_described("AgentJob", launch.inner.front());
  expect_described("AgentPeer", names_of(protocol::PeerNode()));
  expect_described("AgentSecret", names_of(SecretUse()));
  for (const std::string_view word : protocol::kOrderKinds) {
    EXPECT_NE(openapi_text().find("        order: {const: " + std::string(word) + "}\n"),
              std::string_view::npos)
        << word;
  }
}

}  // namespace
}  // namespace dove::server
