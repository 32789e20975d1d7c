/* The life of a job through hiredis: hiredis_life PORT. Exits 0 when every reply was as it should be. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char* what, const redisReply* reply) {
  fprintf(stderr, "%s: got type %d, %s\n", what, reply ? reply->type : -1, reply && reply->str ? reply->str : "");
  exit(1);
}

/* A field of a leased job's flat array. */
static const redisReply* field(const redisReply* job, const char* name) {
  for (size_t i = 0; i + 1 < job->elements; i += 2) {
    if (strcmp(job->element[i]->str, name) == 0) return job->element[i + 1];
  }
  fail(name, job);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  redisContext* c = redisConnect("127.0.0.1", atoi(argv[1]));
  if (c == NULL || c->err) {
    fprintf(stderr, "cannot connect: %s\n", c ? c->errstr : "no memory");
    return 1;
  }
  char payload[256];
  for (int i = 0; i < 256; ++i) payload[i] = (char)i;
  redisReply* id = redisCommand(c, "ENQUEUE c %b PRIORITY 9", payload, sizeof payload);
  if (id == NULL || id->type != REDIS_REPLY_STRING) fail("ENQUEUE", id);
  redisReply* leased = redisCommand(c, "LEASE c FOR 20s");
  if (leased->type != REDIS_REPLY_ARRAY || leased->elements != 1) fail("LEASE", leased);
  const redisReply* job = leased->element[0];
  if (strcmp(field(job, "id")->str, id->str) != 0) fail("id", field(job, "id"));
  if (field(job, "payload")->len != sizeof payload || memcmp(field(job, "payload")->str, payload, sizeof payload) != 0) {
    fail("payload", field(job, "payload"));
  }
  if (field(job, "priority")->integer != 9) fail("priority", field(job, "priority"));
  redisReply* left = redisCommand(c, "RENEW %s", field(job, "receipt")->str);
  if (left->type != REDIS_REPLY_INTEGER || left->integer <= 0) fail("RENEW", left);
  redisReply* done = redisCommand(c, "COMPLETE %s", field(job, "receipt")->str);
  if (done->type != REDIS_REPLY_STATUS || strcmp(done->str, "OK") != 0) fail("COMPLETE", done);
  redisReply* again = redisCommand(c, "COMPLETE %s", field(job, "receipt")->str);
  if (again->type != REDIS_REPLY_ERROR || strncmp(again->str, "LEASELOST", 9) != 0) fail("COMPLETE twice", again);
  redisReply* none = redisCommand(c, "LEASE c");
  if (none->type != REDIS_REPLY_NIL) fail("LEASE of nothing", none);
  freeReplyObject(id);
  freeReplyObject(leased);
  freeReplyObject(left);
  freeReplyObject(done);
  freeReplyObject(again);
  freeReplyObject(none);

  /* Pipelining. */
  enum { kJobs = 500 };
  for (int i = 0; i < kJobs; ++i) {
    redisAppendCommand(c, "ENQUEUE c job-%d", i);
    redisAppendCommand(c, "LEASE c");
  }
  for (int i = 0; i < kJobs; ++i) {
    redisReply* reply = NULL;
    char expected[32];
    snprintf(expected, sizeof expected, "job-%d", i);
    if (redisGetReply(c, (void**)&reply) != REDIS_OK || reply->type != REDIS_REPLY_STRING) fail("pipelined ENQUEUE", reply);
    freeReplyObject(reply);
    if (redisGetReply(c, (void**)&reply) != REDIS_OK || reply->type != REDIS_REPLY_ARRAY) fail("pipelined LEASE", reply);
    if (strcmp(field(reply->element[0], "payload")->str, expected) != 0) fail(expected, field(reply->element[0], "payload"));
    freeReplyObject(reply);
  }
  redisFree(c);
  return 0;
}
