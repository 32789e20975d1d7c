// The life of a job through ioredis, as it is, and its silent resending: node ioredis_life.mjs PORT
import assert from 'node:assert/strict';
import net from 'node:net';
import {Redis} from 'ioredis';
import {fields, life} from './life.mjs';

const port = Number(process.argv[2]);
const redis = new Redis({port});
const worker = redis.duplicate();
await life((args) => redis.call(...args), (args) => redis.callBuffer(...args), 'ioredis',
           (args) => worker.call(...args));

// multi(): all of it, or nothing.
await redis.call('ENQUEUE', 'ioredis-multi', 'step 1');
const [leased] = (await redis.call('LEASE', 'ioredis-multi')).map(fields);
const replies = await redis.multi()
    .call('COMPLETE', leased.receipt)
    .call('ENQUEUE', 'ioredis-multi', 'step 2')
    .set('io:result', 'done')
    .get('io:result')
    .exec();
assert.deepEqual(replies.map(([error]) => error), [null, null, null, null]);
assert.equal(replies[3][1], 'done');
await assert.rejects(redis.multi().set('io:result', 'never').call('COMPLETE', leased.receipt).exec(),
                     /EXECABORT.*command 2 \(COMPLETE\): LEASELOST/);
assert.equal(await redis.get('io:result'), 'done');

// Key prefixes leave our commands alone.
const prefixed = new Redis({port, keyPrefix: 'app:'});
await prefixed.call('ENQUEUE', 'ioredis-prefix', 'x');
const [job] = (await redis.call('LEASE', 'ioredis-prefix')).map(fields);
assert.equal(job.queue, 'ioredis-prefix');
await redis.call('COMPLETE', job.receipt);

// The connection is cut after the server has the ENQUEUE and before the client has its answer.
async function enqueuedThroughACut(options, queue) {
  let cut = false;
  const proxy = net.createServer((client) => {
    const server = net.connect(port);
    server.on('error', () => {});
    client.on('error', () => {});
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
    let armed = false;
    client.on('data', (bytes) => {
      if (!cut && bytes.includes('ENQUEUE')) armed = true;
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (armed && !cut) {
        cut = true;
        client.destroy();
      } else {
        client.write(bytes);
      }
    });
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const client = new Redis({port: proxy.address().port, retryStrategy: () => 10, ...options});
  client.on('error', () => {});
  await client.ping();
  const outcome = await client.call('ENQUEUE', queue, 'once?').then(() => 'answered', () => 'rejected');
  client.disconnect();
  await new Promise((resolve) => proxy.close(resolve));
  assert.ok(cut);
  const jobs = (await redis.call('LEASE', queue, 'COUNT', '10')).length;
  return {outcome, jobs};
}
// Without resending, ioredis 6 never settles the promise of a command that was cut off; a command timeout does.
assert.deepEqual(
    await enqueuedThroughACut({autoResendUnfulfilledCommands: false, commandTimeout: 2000}, 'ioredis-cut-1'),
    {outcome: 'rejected', jobs: 1});
// The default sends it again: the reason why PROTOCOL.md says to switch that off.
assert.deepEqual(await enqueuedThroughACut({}, 'ioredis-cut-2'), {outcome: 'answered', jobs: 2});

for (const client of [redis, worker, prefixed]) client.disconnect();
