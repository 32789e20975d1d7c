// The application's own data: conditions, order with what else happens, restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/kv_request.h"
#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using When = DataSetRequest::When;

class Data : public ::testing::Test {
 protected:
  Data() : world_(TwoCores()) { world_.Open(); }

  static WorldOptions TwoCores() {
    WorldOptions options;
    options.cores = 2;
    return options;
  }
  bool Set(const std::string& key, const std::string& value, When when = When::kAlways,
           const std::string& expected = "", uint16_t core = 0) {
    DataSetRequest request;
    request.key = key;
    request.value = value;
    request.when = when;
    request.expected = expected;
    world_.Run(&request, core);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    return request.stored;
  }
  std::vector<std::string> Get(std::vector<std::string> keys, uint16_t core = 0) {
    DataGetRequest request;
    request.keys = std::move(keys);
    world_.Run(&request, core);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    std::vector<std::string> out;
    for (const auto& value : request.values) out.push_back(value ? *value : "(none)");
    return out;
  }
  uint64_t Delete(std::vector<std::string> keys, uint16_t core = 0) {
    DataDeleteRequest request;
    request.keys = std::move(keys);
    world_.Run(&request, core);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    return request.deleted;
  }

  World world_;
};

TEST_F(Data, IsSetReadDeletedAndSurvivesAPowerCut) {
  EXPECT_TRUE(Set("a", "1"));
  EXPECT_TRUE(Set("b", "2", When::kAlways, "", 1));
  EXPECT_TRUE(Set("a", "one", When::kAlways, "", 1));
  EXPECT_THAT(Get({"a", "b", "c", "a"}), ElementsAre("one", "2", "(none)", "one"));
  world_.PowerCut(CrashMode::kLoseUnsynced);
  world_.Boot(Seconds(1));
  EXPECT_THAT(world_.CheckOffline(), IsEmpty());
  world_.Open();
  EXPECT_THAT(Get({"a", "b"}, 1), ElementsAre("one", "2"));
  EXPECT_EQ(Delete({"a", "c", "a", "b"}), 2u);
  EXPECT_EQ(Delete({"a"}), 0u);
  EXPECT_THAT(Get({"a", "b"}), ElementsAre("(none)", "(none)"));
  EXPECT_THAT(world_.discipline_breach(), IsEmpty());
}

TEST_F(Data, ConditionsSeeWhatIsThere) {
  EXPECT_FALSE(Set("k", "x", When::kEqual, ""));  // absent is not empty
  EXPECT_TRUE(Set("k", "", When::kAbsent));
  EXPECT_FALSE(Set("k", "x", When::kAbsent));
  EXPECT_TRUE(Set("k", "1", When::kEqual, ""));
  EXPECT_FALSE(Set("k", "2", When::kEqual, "0"));
  EXPECT_TRUE(Set("k", "2", When::kEqual, "1", 1));
  EXPECT_THAT(Get({"k"}), ElementsAre("2"));
}

// KV-1: counting by compare-and-set from both cores, with blind writes in between, loses nothing.
TEST_F(Data, CompareAndSetFromBothCoresLosesNoStep) {
  Set("n", "0");
  std::vector<std::unique_ptr<DataSetRequest>> requests;
  std::vector<std::unique_ptr<bool>> done;
  int stored = 0;
  for (int round = 0; round < 300; ++round) {
    const int now = std::stoi(Get({"n"})[0]);
    EXPECT_EQ(now, stored);
    DataSetRequest a, b;
    bool a_done = false, b_done = false;
    for (DataSetRequest* r : {&a, &b}) {
      r->key = "n";
      r->value = std::to_string(now + 1);
      r->when = When::kEqual;
      r->expected = std::to_string(now);
    }
    world_.Start(&a, &a_done, 0);
    world_.Start(&b, &b_done, 1);
    while (!(a_done && b_done)) {
      if (!world_.Step()) world_.Settle();
    }
    EXPECT_NE(a.stored, b.stored) << round;
    ++stored;
  }
  EXPECT_THAT(Get({"n"}), ElementsAre("300"));
}

TEST_F(Data, AStreamSeesItsOwnWritesInOrder) {
  Stream stream;
  DataSetRequest set;
  set.key = "k";
  set.value = "v";
  DataGetRequest get;
  get.keys = {"k"};
  DataDeleteRequest del;
  del.keys = {"k"};
  DataGetRequest after;
  after.keys = {"k"};
  bool done[4] = {};
  world_.Start(&set, &done[0], 0, &stream);
  world_.Start(&get, &done[1], 0, &stream);
  world_.Start(&del, &done[2], 0, &stream);
  world_.Start(&after, &done[3], 0, &stream);
  world_.Settle();
  ASSERT_TRUE(done[0] && done[1] && done[2] && done[3]);
  ASSERT_EQ(get.values.size(), 1u);
  EXPECT_EQ(get.values[0], "v");
  EXPECT_EQ(del.deleted, 1u);
  EXPECT_FALSE(after.values[0].has_value());
}

TEST_F(Data, RangeGivesEachKeyOnce) {
  for (int i = 0; i < 250; ++i) Set("user:" + std::to_string(1000 + i), "v" + std::to_string(i));
  Set("user", "not of the prefix");
  Set("user;", "nor this");
  std::vector<std::string> keys;
  DataRangeRequest request;
  request.prefix = "user:";
  request.count = 100;
  for (int pages = 1; pages <= 3; ++pages) {
    world_.Run(&request, static_cast<uint16_t>(pages % 2));
    ASSERT_TRUE(request.error.ok());
    for (const auto& [key, value] : request.entries) keys.push_back(key);
    EXPECT_EQ(request.more, pages < 3);
    request.after = keys.back();
  }
  ASSERT_EQ(keys.size(), 250u);
  EXPECT_EQ(keys.front(), "user:1000");
  EXPECT_EQ(keys.back(), "user:1249");
}

}  // namespace
}  // namespace vestq
