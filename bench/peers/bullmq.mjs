// BullMQ's side of bench/fairness: lines on stdin, an answer a line on stdout.
//
//   add TENANT COUNT   enqueues COUNT jobs of the tenant        -> added COUNT
//   drain COUNT        works until COUNT jobs at least have been started -> the tenants in order of start, by commas
//
// argv: the port of Redis, the number of jobs at once. node_modules with bullmq and ioredis stand where the
// script is run.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import process from 'node:process';

const require = createRequire(process.cwd() + '/');
const { Queue, Worker } = require('bullmq');
const [port, concurrency] = process.argv.slice(2).map(Number);
const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
const options = { removeOnComplete: true, removeOnFail: true };
const queue = new Queue('fairness', { connection });

async function add(tenant, count) {
  for (let left = count; left > 0; left -= 1000) {
    const jobs = Array.from({ length: Math.min(1000, left) }, () => ({ name: 'job', data: tenant, opts: options }));
    await queue.addBulk(jobs);
  }
  return `added ${count}`;
}

// One worker for the whole run: what it had begun when it was paused is told with the next drain.
let order = [];
let wanted = Infinity;
let reached = () => {};
const worker = new Worker('fairness', async (job) => {
  order.push(job.data);
  if (order.length >= wanted) reached();
}, { connection, concurrency, autorun: false });

async function drain(count) {
  if (order.length < count) {
    const enough = new Promise((resolve) => { reached = resolve; });
    wanted = count;
    if (worker.isPaused()) worker.resume();
    else worker.run();
    await enough;
    await worker.pause();  // waits for those under way
    wanted = Infinity;
  }
  const taken = order;
  order = [];
  return taken.join(',');
}

for await (const line of createInterface({ input: process.stdin })) {
  const [word, ...numbers] = line.split(' ');
  const answer = word === 'add' ? await add(...numbers.map(Number)) : await drain(Number(numbers[0]));
  process.stdout.write(answer + '\n');
}
await worker.close();
await queue.close();
process.exit(0);
