#include "yaml/reader.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

namespace dove::yaml {

namespace {

using text::at_place;
using text::Place;

Error bad(std::string message, const Place& place) {
  return at_place(Error{ErrorKind::kInvalid, "bad_yaml", std::move(message), ""}, place);
}

Value null_at(const std::string& file) {
  Value value;
  value.place = Place{file, 1, 1};
  return value;
}

// Ends the parse from inside an event; caught in parse() and nowhere else.
struct Stopped {
  Error error;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  // `values`: those that the documents before it have, and then those of this one too.
  TreeBuilder(const std::string& file, const Limits& limits, std::size_t& values)
      : file_(file), limits_(limits), values_(values) {
    root_ = std::make_shared<Value>(null_at(file));
  }

  ValueRef root() const { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, Value::Kind::kNull);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "this alias names a value that is not complete yet");
    count(mark, limits_.counts_aliases ? found->second->weight : 1);
    if (static_cast<int>(open_.size()) + found->second->height > kDepthMax) too_deep(mark);
    attach(mark, found->second);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = add(mark, anchor, Value::Kind::kScalar);
    node->text = value;
    node->quoted = tag != "?";
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Value::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Value::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  [[noreturn]] void stop(const YAML::Mark& mark, std::string message) {
    throw Stopped{bad(std::move(message), place(mark))};
  }

  [[noreturn]] void too_deep(const YAML::Mark& mark) {
    stop(mark, fmt::format("nested deeper than {} levels", kDepthMax));
  }

  Place place(const YAML::Mark& mark) const { return Place{file_, mark.line + 1, mark.column + 1}; }

  void count(const YAML::Mark& mark, std::size_t weight = 1) {
    if (weight <= limits_.values_max - values_) {
      values_ += weight;
      return;
    }
    stop(mark, fmt::format("more than {} values{}", limits_.values_max,
                           weight > 1 ? ", aliases followed" : ""));
  }

  std::shared_ptr<Value> add(const YAML::Mark& mark, YAML::anchor_t anchor, Value::Kind kind) {
    count(mark);
    auto node = std::make_shared<Value>();
    node->kind = kind;
    node->place = place(mark);
    attach(mark, node);
    if (anchor != 0) anchors_[anchor] = node;
    return node;
  }

  void attach(const YAML::Mark& mark, ValueRef node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Value& parent = *open_.back();
    bool is_key = parent.kind == Value::Kind::kMap && parent.keys.size() == parent.values.size();
    if (!is_key) {
      parent.values.push_back(std::move(node));
      return;
    }
    if (node->kind != Value::Kind::kScalar && node->kind != Value::Kind::kNull) {
      stop(mark, "a key must be a word, not a list or a map");
    }
    parent.keys.push_back(std::move(node));
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Value::Kind kind) {
    if (open_.size() >= static_cast<std::size_t>(kDepthMax)) {
      too_deep(mark);
    }
    // An anchor counts once its value is complete, so that no value can contain itself.
    auto node = add(mark, 0, kind);
    open_.push_back(node);
    open_anchors_.push_back(anchor);
  }

  void close() {
    if (open_.empty()) return;
    Value& whole = *open_.back();
    whole.weight += whole.keys.size();
    for (const ValueRef& value : whole.values) {
      whole.height = std::max(whole.height, value->height + 1);
      whole.weight = std::min(whole.weight + value->weight, kWeightMax);
    }
    if (open_anchors_.back() != 0) anchors_[open_anchors_.back()] = open_.back();
    open_.pop_back();
    open_anchors_.pop_back();
  }

  static constexpr std::size_t kWeightMax = std::size_t{1} << 60;

  const std::string& file_;
  const Limits& limits_;
  std::size_t& values_;
  ValueRef root_;
  std::vector<std::shared_ptr<Value>> open_;
  std::vector<YAML::anchor_t> open_anchors_;
  std::map<YAML::anchor_t, ValueRef> anchors_;
};

// The most frequent mistake, which the library reports as something else.
bool indented_by_tab(const std::string& text, int line) {
  std::size_t start = 0;
  for (int i = 0; i < line && start != std::string::npos; ++i) {
    start = text.find('\n', start);
    if (start != std::string::npos) ++start;
  }
  if (start == std::string::npos) return false;
  std::size_t word = text.find_first_not_of(" \t", start);
  return text.substr(start, word - start).find('\t') != std::string::npos;
}

// The library reads ahead to the end of open brackets before it reports the first, and keeps
// hundreds of bytes for each. No quoted text has that many of them unclosed.
bool endless_brackets(std::string_view text) {
  constexpr int kOpenMax = 10'000;
  int open = 0;
  for (char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kOpenMax) return true;
  }
  return false;
}

// What the library says of brackets at the end of the file, said of the one that is never closed:
// its place and the remedy. None: all are closed.
std::optional<Error> unclosed_bracket(const std::string& file, std::string_view text) {
  struct Open {
    char bracket;
    Place place;
  };
  std::vector<Open> open;
  Place place{file, 1, 0};
  char quote = 0;
  char before = '\n';
  for (std::size_t i = 0; i < text.size(); before = text[i++]) {
    const char c = text[i];
    ++place.column;
    if (c == '\n') {
      ++place.line;
      place.column = 0;
    } else if (quote != 0) {
      const bool escapes = (c == '\\' && quote == '"') ||
                           (c == '\'' && quote == c && text.substr(i + 1).starts_with(c));
      if (escapes) {
        if (++i >= text.size()) break;
        ++place.column;
        continue;
      }
      if (c == quote) quote = 0;
    } else if (c == '#' && (before == ' ' || before == '\n')) {
      i = std::min(text.find('\n', i), text.size()) - 1;
      place.column = 0;
    } else if ((c == '"' || c == '\'') && std::string_view(" \n,[{:").find(before) != text.npos) {
      quote = c;
    } else if (c == '[' || c == '{') {
      const bool begins = !open.empty() || std::string_view(" \n-").find(before) != text.npos;
      if (begins) open.push_back({c, place});
    } else if ((c == ']' || c == '}') && !open.empty()) {
      open.pop_back();
    }
    if (i >= text.size()) break;
  }
  if (open.empty()) return std::nullopt;
  const Open& first = open.front();
  return bad(fmt::format("the {0} is never closed: write a {1} behind its last item, or quotes "
                         "around a text that begins with {0}",
                         first.bracket, first.bracket == '[' ? ']' : '}'),
             first.place);
}

std::string size_text(std::size_t bytes) {
  return bytes % (1 << 20) == 0 ? fmt::format("{} MiB", bytes >> 20)
                                : fmt::format("{} KiB", bytes >> 10);
}

// The first `documents_max` documents. Exceptions of the library end here.
Result<std::vector<ValueRef>> parse(const std::string& file, const std::string& text,
                                    const Limits& limits, std::size_t documents_max) {
  if (text.size() > limits.bytes_max) {
    return Error{ErrorKind::kTooLarge, "too_large",
                 fmt::format("{}: over {}", file, size_text(limits.bytes_max)), file};
  }
  if (endless_brackets(text)) {
    return bad(fmt::format("nested deeper than {} levels", kDepthMax), Place{file, 1, 1});
  }
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    std::vector<ValueRef> documents;
    std::size_t values = 0;
    while (documents.size() < documents_max) {
      TreeBuilder builder(file, limits, values);
      if (!parser.HandleNextDocument(builder)) break;
      documents.push_back(builder.root());
    }
    return documents;
  } catch (const Stopped& stopped) {
    return stopped.error;
  } catch (const YAML::Exception& e) {
    if (const std::optional<Error> open = unclosed_bracket(file, text)) return *open;
    // A mark may be null (-1) where the library does not know it.
    Place place{file, std::max(e.mark.line, 0) + 1, std::max(e.mark.column, 0) + 1};
    bool tab = indented_by_tab(text, place.line - 1);
    return bad(fmt::format("not valid YAML: {}{}", e.msg,
                           tab ? "; indent with blanks, YAML takes no tabs" : ""),
               place);
  } catch (const std::exception& e) {
    return bad(fmt::format("not valid YAML: {}", e.what()), Place{file, 1, 1});
  }
}

}  // namespace

Result<ValueRef> read(const std::string& file, const std::string& text, const Limits& limits,
                      std::string_view one) {
  TRY_ASSIGN(const std::vector<ValueRef> documents, parse(file, text, limits, 2));
  if (documents.empty()) {
    return ValueRef(std::make_shared<Value>(null_at(file)));
  }
  if (documents.size() == 2) {
    return bad(fmt::format("a second document begins here: one {} per file", one),
               documents[1]->place);
  }
  return documents[0];
}

Result<std::vector<ValueRef>> read_documents(const std::string& file, const std::string& text,
                                             const Limits& limits) {
  return parse(file, text, limits, text.size() + 1);
}

}  // namespace dove::yaml
