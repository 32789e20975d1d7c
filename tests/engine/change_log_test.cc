// Which changes a read under way is told of.
#include "engine/change_log.h"

#include <gtest/gtest.h>

#include <string>

namespace vestq {
namespace {

TEST(ChangeLog, TellsOfWhatChangedSinceTheReadBegan) {
  ChangeLog<int, std::string> log;
  log.Note(1, "nobody reads");
  EXPECT_EQ(log.size(), 0u);
  const auto first = log.Begin();
  log.Note(1, "one");
  const auto second = log.Begin();
  log.Note(2, "two");
  log.Note(2, "two again");
  EXPECT_TRUE(log.Changed(first, 1));
  EXPECT_FALSE(log.Changed(second, 1));
  ASSERT_NE(log.Find(second, 2), nullptr);
  EXPECT_EQ(*log.Find(second, 2), "two again");
  EXPECT_EQ(log.Find(first, 3), nullptr);
  log.End(first);
  EXPECT_TRUE(log.Changed(second, 2));
  log.End(second);
  EXPECT_EQ(log.size(), 0u);
}

TEST(ChangeLog, KeepsOnlyWhatAnOpenReadCanAskFor) {
  ChangeLog<int> log;
  auto mark = log.Begin();
  for (int i = 0; i < 100'000; ++i) {
    log.Note(i);
    const auto next = log.Begin();  // there is always one, none for long
    log.End(mark);
    mark = next;
  }
  EXPECT_LT(log.size(), 5'000u);
  log.End(mark);
  EXPECT_EQ(log.size(), 0u);
}

}  // namespace
}  // namespace vestq
