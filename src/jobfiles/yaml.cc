#include "jobfiles/yaml.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "jobfiles/draft.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

namespace {

// Ends the parse from inside an event; caught in read_yaml and nowhere else.
struct Stopped {
  Error error;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& file) : file_(file) {}

  YamlRef root() const { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, Yaml::Kind::kNull);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "this alias names a value that is not complete yet");
    count(mark);
    if (static_cast<int>(open_.size()) + found->second->height > kDepthMax) too_deep(mark);
    attach(mark, found->second);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = add(mark, anchor, Yaml::Kind::kScalar);
    node->text = value;
    node->quoted = tag != "?";
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Yaml::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Yaml::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  [[noreturn]] void stop(const YAML::Mark& mark, std::string message) {
    throw Stopped{at_place(invalid(std::move(message), "bad_yaml"), place(mark))};
  }

  [[noreturn]] void too_deep(const YAML::Mark& mark) {
    stop(mark, fmt::format("nested deeper than {} levels", kDepthMax));
  }

  Place place(const YAML::Mark& mark) const { return Place{file_, mark.line + 1, mark.column + 1}; }

  void count(const YAML::Mark& mark) {
    if (++values_ > kValuesMax) stop(mark, fmt::format("more than {} values", kValuesMax));
  }

  std::shared_ptr<Yaml> add(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind) {
    count(mark);
    auto node = std::make_shared<Yaml>();
    node->kind = kind;
    node->place = place(mark);
    attach(mark, node);
    if (anchor != 0) anchors_[anchor] = node;
    return node;
  }

  void attach(const YAML::Mark& mark, YamlRef node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Yaml& parent = *open_.back();
    bool is_key = parent.kind == Yaml::Kind::kMap && parent.keys.size() == parent.values.size();
    if (!is_key) {
      parent.values.push_back(std::move(node));
      return;
    }
    if (node->kind != Yaml::Kind::kScalar && node->kind != Yaml::Kind::kNull) {
      stop(mark, "a key must be a word, not a list or a map");
    }
    parent.keys.push_back(std::move(node));
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind) {
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
    for (const YamlRef& value : open_.back()->values) {
      open_.back()->height = std::max(open_.back()->height, value->height + 1);
    }
    if (open_anchors_.back() != 0) anchors_[open_anchors_.back()] = open_.back();
    open_.pop_back();
    open_anchors_.pop_back();
  }

  const std::string& file_;
  YamlRef root_ = std::make_shared<Yaml>();
  std::vector<std::shared_ptr<Yaml>> open_;
  std::vector<YAML::anchor_t> open_anchors_;
  std::map<YAML::anchor_t, YamlRef> anchors_;
  std::size_t values_ = 0;
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
// hundreds of bytes for each. No quoted text has so many of them unclosed.
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

}  // namespace

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
  return at_place(invalid(fmt::format("the {0} is never closed: write a {1} behind its last item, "
                                      "or quotes around a text that begins with {0}",
                                      first.bracket, first.bracket == '[' ? ']' : '}'),
                          "bad_yaml"),
                  first.place);
}

Result<YamlRef> read_yaml(const std::string& file, const std::string& text) {
  if (endless_brackets(text)) {
    return at_place(invalid(fmt::format("nested deeper than {} levels", kDepthMax), "bad_yaml"),
                    Place{file, 1, 1});
  }
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    TreeBuilder builder(file);
    if (!parser.HandleNextDocument(builder)) return YamlRef(std::make_shared<Yaml>());
    TreeBuilder second(file);
    if (parser.HandleNextDocument(second)) {
      return at_place(invalid("a second document begins here: one job per file", "bad_yaml"),
                      second.root()->place);
    }
    return builder.root();
  } catch (const Stopped& stopped) {
    return stopped.error;
  } catch (const YAML::Exception& e) {
    if (const std::optional<Error> open = unclosed_bracket(file, text)) return *open;
    // A mark may be null (-1) where the library does not know it.
    Place place{file, std::max(e.mark.line, 0) + 1, std::max(e.mark.column, 0) + 1};
    bool tab = indented_by_tab(text, place.line - 1);
    return at_place(invalid(fmt::format("not valid YAML: {}{}", e.msg,
                                        tab ? "; indent with blanks, YAML takes no tabs" : ""),
                            "bad_yaml"),
                    place);
  } catch (const std::exception& e) {
    return at_place(invalid(fmt::format("not valid YAML: {}", e.what()), "bad_yaml"),
                    Place{file, 1, 1});
  }
}

}  // namespace dove::jobfiles
