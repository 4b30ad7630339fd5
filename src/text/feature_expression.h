// Feature expressions: which features a job wants of its nodes, as Slurm writes them: "a&(b|c)".
//
// Here a job has a list of wishes, all of which every node must meet. A wish is a feature, or
// several joined by "|", of which a node needs one: {"a", "b|c"}. Where they are in brackets all
// nodes need the same one: "[b|c]". Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dove::text {

// `&` and `,` are "and"; as in Slurm they bind no closer than `|`: "a&b|c" is "(a&b)|c". None: it
// is malformed, counts nodes ("a*2"), has more in brackets than features joined by "|", joins
// brackets by "|", or takes more than 64 wishes, or one of more than 256 bytes.
// Source: sbatch(1) of Slurm 22.05, --constraint.
std::optional<std::vector<std::string>> read_feature_expression(std::string_view text);

// {"a", "b|c"} -> "a&(b|c)"; nothing -> "".
std::string write_feature_expression(const std::vector<std::string>& wishes);

// Whether one of the features in `wish` is `feature`.
bool wishes_for(std::string_view wish, std::string_view feature);

// Whether all nodes need the same one of its features: "[a|b]".
bool is_same_on_all(std::string_view wish);
// Features that such a wish may name.
inline constexpr std::size_t kChoicesMax = 8;
// "[a|b]" or "a|b" -> {"a", "b"}.
std::vector<std::string> features_of_wish(std::string_view wish);

}  // namespace dove::text
