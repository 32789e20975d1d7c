// vestq_load: drives a job server over its wire protocol, checks every answer and prints one JSON
// object. bench/README.md says what each number means.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>

#include "bench/load/driver.h"

namespace vestq::bench {
namespace {

using nlohmann::json;

struct Options {
  std::string mode = "lifecycle";
  std::string protocol = "vestq";
  std::string queue = "bench";
  std::string fill = "random";
  std::string block_stat;
  uint16_t port = 0;
  int cpu = -1;
  int pid = 0;
  Plan plan;
};

int Fail(const std::string& why) {
  std::fprintf(stderr, "vestq_load: %s\n", why.c_str());
  return 1;
}

json ToJson(const Histogram& histogram) {
  const auto us = [&histogram](double share) {
    return static_cast<double>(histogram.Percentile(share)) / 1000;
  };
  return {{"count", histogram.total()}, {"p50_us", us(0.5)},
          {"p90_us", us(0.9)},          {"p99_us", us(0.99)},
          {"p999_us", us(0.999)},       {"max_us", static_cast<double>(histogram.max_ns()) / 1000}};
}

json ToJson(const Options& options, const Report& report) {
  const ServerUse& a = report.before;
  const ServerUse& b = report.after;
  const double jobs = static_cast<double>(std::max<uint64_t>(report.jobs, 1));
  const auto per_job = [jobs](uint64_t from, uint64_t to) {
    return static_cast<double>(to - from) / jobs;
  };
  json out = {
      {"mode", options.mode},
      {"protocol", options.protocol},
      {"connections", options.plan.connections},
      {"depth", options.plan.depth},
      {"payload_bytes", options.plan.payload_bytes},
      {"fill", options.fill},
      {"elapsed_s", report.elapsed_s},
      {"jobs", report.jobs},
      {"jobs_per_s", static_cast<double>(report.jobs) / std::max(report.elapsed_s, 1e-9)},
      {"puts", report.puts},
      {"takes", report.takes},
      {"empty_takes", report.empty_takes},
      {"load_cpu_share", report.own_cpu},
      {"server_cpu_us_per_job", per_job(a.cpu_ns, b.cpu_ns) / 1000},
      {"server_cpu_share", static_cast<double>(b.cpu_ns - a.cpu_ns) / 1e9 / report.elapsed_s},
      {"server_written_bytes_per_job", per_job(a.written_bytes, b.written_bytes)},
      {"device_bytes_per_job", per_job(a.device_bytes, b.device_bytes)},
      {"device_writes_per_job", per_job(a.device_writes, b.device_writes)},
      {"server_rss_bytes", b.rss_bytes},
      {"server_rss_peak_bytes", b.rss_peak_bytes},
      {"lifecycle", ToJson(report.lifecycle)},
  };
  for (size_t i = 0; i < kOps; ++i) {
    if (report.operations[i].total() > 0) out[kOpNames[i]] = ToJson(report.operations[i]);
  }
  if (!report.tenths.empty()) out["tenths_jobs_per_s"] = report.tenths;
  return out;
}

volatile std::sig_atomic_t stop_requested = 0;
void RequestStop(int) { stop_requested = 1; }

// Opens the connections, lets each wait for a job, prints "waiting N" and stays until SIGTERM,
// SIGINT or the time given. An answer in that time is a failure: nothing was there to take.
int RunWaiters(const Options& options, const Dialect& dialect) {
  struct sigaction action {};
  action.sa_handler = RequestStop;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::deque<Connection> connections;
  for (size_t i = 0; i < options.plan.connections; ++i) {
    Connection& connection = connections.emplace_back();
    if (!connection.Open(options.port))
      return Fail(std::string("connect: ") + std::strerror(errno));
    std::string greeting;
    std::string expected;
    std::string answer;
    dialect.AppendGreeting(&greeting, &expected);
    if (!connection.Exchange(greeting, expected.size(), &answer) || answer != expected) {
      return Fail("greeting answered by " + answer);
    }
    if (!connection.SetNonBlocking()) return Fail("fcntl failed");
    if (!dialect.AppendWait(i, &connection.out())) return Fail("this server cannot wait");
    if (connection.Flush() != Connection::Io::kDone) return Fail("a wait was not taken");
  }
  std::printf("waiting %zu\n", connections.size());
  std::fflush(stdout);
  const uint64_t end_ns = NowNs() + static_cast<uint64_t>(options.plan.seconds * 1e9);
  while (stop_requested == 0 && (options.plan.seconds <= 0 || NowNs() < end_ns)) usleep(50'000);
  for (Connection& connection : connections) {
    if (connection.Read() != Connection::Io::kWouldBlock) return Fail("a waiter was answered");
  }
  return 0;
}

void Declare(CLI::App* app, Options* options) {
  Plan& plan = options->plan;
  app->add_option(
         "--mode", options->mode,
         "lifecycle: put, take, complete; fill: put only; drain: take and complete what is "
         "there; wait: connections that wait for a job until stopped")
      ->check(CLI::IsMember({"lifecycle", "fill", "drain", "wait"}));
  app->add_option("--protocol", options->protocol, "how the server is spoken to")
      ->check(CLI::IsMember({"vestq", "redis-lists", "redis-streams", "beanstalkd"}));
  app->add_option("--port", options->port, "on 127.0.0.1")->required();
  app->add_option("--queue", options->queue, "queue, list, stream or tube");
  app->add_option("--connections", plan.connections)->check(CLI::Range(1, 20000));
  app->add_option("--depth", plan.depth, "jobs in flight a connection")
      ->check(CLI::Range(1, 10000));
  app->add_option("--payload", plan.payload_bytes, "bytes")->check(CLI::Range(16, 1 << 20));
  app->add_option("--fill", options->fill, "half: compresses to about a half")
      ->check(CLI::IsMember({"random", "half"}));
  app->add_option("--run", plan.run,
                  "number in the payloads; another one for each run on the same "
                  "data")
      ->check(CLI::Range(1, (1 << 24) - 1));
  app->add_option("--delay", plan.delay_s, "puts vest after so many seconds");
  app->add_option("--warmup", plan.warmup_s, "seconds before the measured time");
  app->add_option("--seconds", plan.seconds, "measured time");
  app->add_option("--count", plan.count, "jobs in all, instead of a time");
  app->add_flag("--backlog", plan.backlog, "other jobs are in the queue");
  app->add_option("--cpu", options->cpu, "pin to this core");
  app->add_option("--pid", options->pid, "the server's process: CPU, bytes written, memory");
  app->add_option("--block-stat", options->block_stat,
                  "sysfs stat file of the data's block device");
}

std::string Refused(const Options& options, const Dialect& dialect) {
  if (options.mode == "wait") return "";
  if (options.plan.seconds <= 0 && options.plan.count == 0) return "give --seconds or --count";
  if (options.mode == "drain" && options.plan.count == 0) return "drain wants --count";
  if (options.plan.delay_s > 0 && options.mode != "fill") return "--delay goes with --mode fill";
  std::string ignored;
  if (!dialect.AppendPut("", options.plan.delay_s, &ignored)) return "this server has no delays";
  return "";
}

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Load generator for job queues: checks every answer, prints JSON");
  Declare(&app, &options);
  CLI11_PARSE(app, argc, argv);
  const std::unique_ptr<Dialect> dialect = MakeDialect(options.protocol, options.queue);
  if (dialect == nullptr) return Fail("unknown protocol");
  const std::string refused = Refused(options, *dialect);
  if (!refused.empty()) return Fail(refused);
  RaiseFileLimit();
  if (options.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(options.cpu), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) return Fail("cannot pin to that core");
  }
  if (options.mode == "wait") return RunWaiters(options, *dialect);
  options.plan.put = options.mode != "drain";
  options.plan.take = options.mode != "fill";
  options.plan.fill = options.fill == "half" ? Fill::kHalf : Fill::kRandom;
  const ServerProbe probe(options.pid, options.block_stat);
  Driver driver(options.plan, *dialect, probe);
  Report report;
  const std::string error = driver.Run(options.port, &report);
  if (!error.empty()) return Fail(error);
  std::printf("%s\n", ToJson(options, report).dump().c_str());
  return 0;
}

}  // namespace vestq::bench

int main(int argc, char** argv) { return vestq::bench::Main(argc, argv); }
