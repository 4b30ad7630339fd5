#include "text/bash_functions.h"

#include <gtest/gtest.h>

namespace dove::text {
namespace {

using Map = std::map<std::string, std::string>;

TEST(BashFunctions, AreCarriedInVariablesThatEveryShellKeeps) {
  Map all{{"A", "1"}, {"BASH_FUNC_ml%%", "() { x; }"}, {"BASH_FUNC_module%%", "() { :\n}"}};
  pack_functions(all);
  EXPECT_EQ(all, (Map{{"A", "1"},
                      {"DOVE_FUNCTIONS", "2"},
                      {"DOVE_FUNCTION_0", "BASH_FUNC_ml%%=() { x; }"},
                      {"DOVE_FUNCTION_1", "BASH_FUNC_module%%=() { :\n}"}}));
}

TEST(BashFunctions, WhereThereAreNoneNothingIsCarried) {
  Map all{{"A", "1"}, {"DOVE_FUNCTIONS", "1"}, {"DOVE_FUNCTION_0", "old"}};
  pack_functions(all);
  EXPECT_EQ(all, (Map{{"A", "1"}}));
}

}  // namespace
}  // namespace dove::text
