// The life of a job through node-redis, as it is: node node_redis_life.mjs PORT
import {createClient, RESP_TYPES} from 'redis';
import assert from 'node:assert/strict';
import {fields, life} from './life.mjs';

const port = Number(process.argv[2]);
for (const RESP of [2, 3]) {
  const client = createClient({socket: {port, reconnectStrategy: false}, RESP, name: 'node-redis-test'});
  client.on('error', (error) => { throw error; });
  await client.connect();
  const worker = client.duplicate();
  worker.on('error', (error) => { throw error; });
  await worker.connect();
  const buffers = client.withTypeMapping({[RESP_TYPES.BLOB_STRING]: Buffer});
  await life((args) => client.sendCommand(args), (args) => buffers.sendCommand(args), `node-redis-${RESP}`,
             (args) => worker.sendCommand(args));
  // multi(): all of it, or nothing.
  const queue = `node-redis-multi-${RESP}`;
  await client.sendCommand(['ENQUEUE', queue, 'step 1']);
  const [leased] = (await client.sendCommand(['LEASE', queue])).map(fields);
  const replies = await client.multi()
      .addCommand(['COMPLETE', leased.receipt])
      .addCommand(['ENQUEUE', queue, 'step 2'])
      .set('node:result', 'done')
      .get('node:result')
      .exec();
  assert.equal(replies[0], 'OK');
  assert.equal(replies[3], 'done');
  await assert.rejects(client.multi().set('node:result', 'never').addCommand(['COMPLETE', leased.receipt]).exec(),
                       /EXECABORT.*command 2 \(COMPLETE\): LEASELOST/);
  assert.equal(await client.get('node:result'), 'done');
  if (!(await client.info()).includes('redis_version:')) throw new Error('INFO');
  // A wait for a job's end on a connection of its own.
  const id = await client.sendCommand(['ENQUEUE', 'node-wait', 'x', 'KEEP', '1m']);
  const ended = worker.sendCommand(['WAITFOR', id, 'BLOCK', '30s']);
  const [job] = (await client.sendCommand(['LEASE', 'node-wait'])).map(fields);
  await client.sendCommand(['COMPLETE', job.receipt, 'RESULT', '42']);
  const done = fields(await ended);
  if (done.state !== 'done' || done.result !== '42') throw new Error(JSON.stringify(done));
  if (RESP === 3) {
    // Pushes that it does not know do not disturb it: commands go on between them.
    if (await worker.sendCommand(['EVENTS']) !== 'OK') throw new Error('EVENTS');
    for (let i = 0; i < 50; ++i) {
      const other = await worker.sendCommand(['ENQUEUE', 'node-events', `job ${i}`]);
      const shown = fields(await worker.sendCommand(['JOB', other]));
      if (shown.state !== 'ready') throw new Error(JSON.stringify(shown));
    }
  }
  await worker.close();
  await client.close();
}
