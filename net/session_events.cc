// A session that listens to events. A request of the engine waits for the next ones; it is asked again
// while the client reads what it gets, so that a slow reader costs its subscription's bounds and no more,
// and hears what it has missed.
#include <utility>

#include "net/reactor.h"
#include "net/session.h"

namespace vestq {

// Lives until its request is back and the session no longer listens to it.
struct Session::EventStream {
  Session* session = nullptr;
  EventsRequest request;
  bool under_way = false;
  bool ended = false;
};

Error Session::Listen(std::vector<std::string> queues) {
  StopListening();
  auto subscription = std::make_shared<EventSubscription>(core_->id(), std::move(queues));
  VESTQ_RETURN_IF_ERROR(shared().engine->Listen(subscription));
  events_ = new EventStream();
  ++event_streams_;
  events_->session = this;
  events_->request.subscription = std::move(subscription);
  events_->request.done = EventsDone;
  events_->request.context = events_;
  record_->listening.store(true, std::memory_order_relaxed);
  return Error::Ok();
}

void Session::StopListening() {
  EventStream* const stream = std::exchange(events_, nullptr);
  if (stream == nullptr) return;
  shared().engine->Unlisten(stream->request.subscription.get());
  stream->ended = true;
  record_->listening.store(false, std::memory_order_relaxed);
  if (stream->under_way) return core_->Abandon(&stream->request);
  delete stream;
  --event_streams_;
}

void Session::PumpEvents() {
  if (events_ == nullptr || events_->under_way) return;
  if (Unsent() > reactor_->limits().output_soft) return;
  events_->under_way = true;
  core_->Start(&events_->request);
}

void Session::EventsDone(Request* request, void* context) {
  auto* const stream = static_cast<EventStream*>(context);
  Session* const session = stream->session;
  stream->under_way = false;
  session->reactor_->MarkDirty(session);
  if (stream->ended) {
    delete stream;
    --session->event_streams_;
  } else if (!request->error.ok()) {
    session->StopListening();
  } else {
    session->WriteEvents(*stream);
  }
}

void Session::WriteEvents(const EventStream& stream) {
  RespWriter w = writer();
  if (stream.request.missed > 0) {
    w.Push(3);
    w.Bulk("event");
    w.Bulk("missed");
    w.Map(1);
    w.Bulk("count");
    w.Int(static_cast<int64_t>(stream.request.missed));
  }
  for (const JobEvent& event : stream.request.events) {
    w.Push(3);
    w.Bulk("event");
    w.Bulk(EventName(event.kind));
    const bool one = event.id != JobId(0);
    w.Map(2u + (one ? 2u : 1u) + !event.worker.empty() + !event.reason.empty());
    w.Bulk("queue");
    w.Bulk(event.queue);
    if (one) {
      w.Bulk("id");
      w.BulkNumber(event.id.value());
    }
    w.Bulk("time");
    w.Int(event.at.ms());
    w.Bulk(one ? "attempt" : "count");
    w.Int(one ? int64_t{event.attempt} : static_cast<int64_t>(event.jobs));
    if (!event.worker.empty()) {
      w.Bulk("worker");
      w.Bulk(event.worker);
    }
    if (!event.reason.empty()) {
      w.Bulk("reason");
      w.Bulk(event.reason);
    }
  }
}

}  // namespace vestq
