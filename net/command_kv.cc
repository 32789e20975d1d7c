// The application's own data: SET, GET, MGET, DEL, EXISTS and RANGE.
#include <string>

#include "engine/base/limits.h"
#include "engine/kv_request.h"
#include "net/command.h"
#include "net/command_words.h"
#include "net/options.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

Error FillKeys(Args args, std::vector<std::string>* keys) {
  keys->assign(args.begin() + 1, args.end());
  return Error::Ok();
}

namespace set_words {
enum : size_t { kAbsent, kEqual };
constexpr OptionSpec kSpecs[] = {{"NX", false, true, 1u << kEqual},
                                 {"IF", true, true, 1u << kAbsent}};
}  // namespace set_words

Error FillSetData(Args args, DataSetRequest* r) {
  OptionReader options("SET", set_words::kSpecs, args.subspan(3));
  while (options.Next()) {
    if (options.option() == set_words::kAbsent) {
      r->when = DataSetRequest::When::kAbsent;
    } else {
      r->when = DataSetRequest::When::kEqual;
      r->expected.assign(options.value());
    }
  }
  r->key.assign(args[1]);
  r->value.assign(args[2]);
  return options.error();
}

template <DataGetRequest::Form form>
Error FillGet(Args args, DataGetRequest* r) {
  r->form = form;
  return FillKeys(args, &r->keys);
}
Error FillDelete(Args args, DataDeleteRequest* r) { return FillKeys(args, &r->keys); }

namespace range_words {
enum : size_t { kCursor, kCount };
constexpr OptionSpec kSpecs[] = {{"CURSOR"}, {"COUNT"}};
}  // namespace range_words

// The cursor is the last key given, behind a colon.
Error FillRange(Args args, DataRangeRequest* r) {
  OptionReader options("RANGE", range_words::kSpecs, args.subspan(2));
  r->count = limits::kRangeCountDefault;
  while (options.Next()) {
    if (options.option() == range_words::kCount) {
      VESTQ_WORD(r->count, words::ParseNumber("COUNT", options.value(), 1, limits::kRangeCountMax),
                 static_cast<uint32_t>);
    } else if (options.value() != "0") {
      if (!options.value().starts_with(':')) {
        return Error(ErrorCode::kSyntax, "CURSOR " + words::Quote(options.value()) +
                                             ": 0 or what the last call gave is expected");
      }
      r->after = std::string(options.value().substr(1));
    }
  }
  r->prefix.assign(args[1]);
  return options.error();
}

}  // namespace

void SetData(Session& session, Args args) {
  SubmitFilled<DataSetRequest>(session, args, FillSetData);
}
void GetData(Session& session, Args args) {
  SubmitFilled<DataGetRequest>(session, args, FillGet<DataGetRequest::Form::kOne>);
}
void GetManyData(Session& session, Args args) {
  SubmitFilled<DataGetRequest>(session, args, FillGet<DataGetRequest::Form::kAll>);
}
void CountData(Session& session, Args args) {
  SubmitFilled<DataGetRequest>(session, args, FillGet<DataGetRequest::Form::kCount>);
}
void DeleteData(Session& session, Args args) {
  SubmitFilled<DataDeleteRequest>(session, args, FillDelete);
}
void RangeData(Session& session, Args args) {
  SubmitFilled<DataRangeRequest>(session, args, FillRange);
}

}  // namespace vestq::handlers
