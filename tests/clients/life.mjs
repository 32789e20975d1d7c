// The life of a job, through whatever `call(args)` sends; `bytes(args)` is the same with Buffers in its reply.
import assert from 'node:assert/strict';

// A map is an object, a Map or a flat array, by client and protocol.
export function fields(reply) {
  if (reply instanceof Map) return Object.fromEntries([...reply].map(([k, v]) => [String(k), v]));
  if (!Array.isArray(reply)) return Object.fromEntries(Object.entries(reply));
  const out = {};
  for (let i = 0; i + 1 < reply.length; i += 2) out[String(reply[i])] = reply[i + 1];
  return out;
}

export async function life(call, bytes, queue, separate) {
  const id = await call(['ENQUEUE', queue, 'hello', 'PRIORITY', '5', 'ATTEMPTS', '2']);
  assert.match(id, /^[0-9]+$/);
  let [job] = (await call(['LEASE', queue])).map(fields);
  assert.equal(job.id, id);
  assert.equal(job.payload, 'hello');
  assert.equal(Number(job.priority), 5);
  const left = Number(await call(['RENEW', job.receipt, 'FOR', '1m']));
  assert.ok(left > 0 && left <= 60000);
  assert.deepEqual([...(await call(['FAIL', job.receipt, 'DELAY', '0']))].map(String), ['retry', '0']);
  await assert.rejects(call(['COMPLETE', job.receipt]), /LEASELOST/);
  [job] = (await call(['LEASE', queue, 'BLOCK', '5s'])).map(fields);
  assert.equal(Number(job.attempt), 2);
  assert.equal(await call(['RELEASE', job.receipt]), 'OK');
  [job] = (await call(['LEASE', queue, 'BLOCK', '5s'])).map(fields);
  assert.equal(Number(job.attempt), 2);
  assert.equal(await call(['COMPLETE', job.receipt]), 'OK');
  assert.equal(await call(['LEASE', queue]), null);
  assert.equal(await call(['JOB', id]), null);
  assert.equal(Number(await call(['CANCEL', id])), 0);
  await assert.rejects(call(['ENQUEUE', queue, 'x', 'DELAY', '30']), /write 30s or 30ms/);
  await assert.rejects(call(['NONSENSE']), /unknown command 'NONSENSE'/);

  const binary = Buffer.from(Array.from({length: 256}, (_, i) => i));
  await call(['ENQUEUE', queue, binary]);
  [job] = (await bytes(['LEASE', queue])).map(fields);
  assert.ok(binary.equals(job.payload), 'a binary payload comes back byte for byte');
  assert.equal(await call(['COMPLETE', job.receipt]), 'OK');

  // What is sent in one go is answered in order.
  const n = 200;
  const sent = [];
  for (let i = 0; i < n; ++i) sent.push(call(['ENQUEUE', queue, `job ${i}`]));
  for (let i = 0; i < n; ++i) sent.push(call(['LEASE', queue]));
  const replies = await Promise.all(sent);
  const jobs = replies.slice(n).map(([one]) => fields(one));
  assert.deepEqual(jobs.map((j) => j.id), replies.slice(0, n));
  assert.deepEqual(jobs.map((j) => j.payload), Array.from({length: n}, (_, i) => `job ${i}`));
  const completed = await call(['COMPLETEMANY', ...jobs.map((j) => j.receipt)]);
  assert.deepEqual([...completed].map(Number), Array(n).fill(1));

  // A worker that waits on a connection of its own.
  const waiting = separate(['LEASE', queue, 'BLOCK', '30s']);
  await call(['ENQUEUE', queue, 'wake up']);
  [job] = (await waiting).map(fields);
  assert.equal(job.payload, 'wake up');
  assert.equal(await call(['COMPLETE', job.receipt]), 'OK');
}
