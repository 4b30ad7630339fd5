#include "text/html.h"

#include <gtest/gtest.h>

namespace dove::text {
namespace {

TEST(Html, NothingOfAForeignTextIsMarkup) {
  EXPECT_EQ(html_escaped("<a href=\"x\" id='y'>&\n\x1b"),
            "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;\n ");
}

}  // namespace
}  // namespace dove::text
