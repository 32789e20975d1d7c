// Keys of `vestq export --format fdb` against the npm package fdb-tuple, which encodes and decodes FoundationDB's
// tuples on its own: node fdb_tuple.mjs PORT VESTQ
import {execFileSync} from 'node:child_process';
import assert from 'node:assert/strict';
import tuple from 'fdb-tuple';

const [port, vestq] = process.argv.slice(2);
const server = ['--server', `127.0.0.1:${port}`];
const run = (words, input = '') =>
  execFileSync(vestq, [...words, ...server], {input, maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'ignore']}).toString();
const exported = () => run(['export', '--format', 'fdb', '--queue', 'fdb-a', '--queue', 'fdb-b']).trim().split('\n').sort();

let seed = 20261201;
const below = (n) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return Math.floor(seed / 4294967296 * n);
};
const one = (...values) => values[below(values.length)];
const bytes = (n) => Buffer.from(Array.from({length: n}, () => one(0, 1, 0xff, 0xfe, below(256))));

// What that package encodes comes back as it was.
const keys = new Map();
for (let i = 0; i < 2000; ++i) {
  const key = ['queue', 1, one('fdb-a', 'fdb-b'), one('', 'b1', '\0', 'a\0\0b', '\u00e9\uffff', '\u{10ffff}'),
               one(0, 1, 255, 256, 65535, 65536, 1700000000000, 4000000000000 + below(1e9), 2 ** 48 - 1),
               one(0, 1, 255, 256, 65535, 65536, 2 ** 24, 2 ** 32 - 1), bytes(below(12))];
  keys.set(tuple.pack(key).toString('hex'), key);
}
const lines = [...keys.keys()].map((key, i) =>
  JSON.stringify({key, value: Buffer.from(`${i}\0`).toString('base64')}));
assert.equal(run(['import', '--format', 'fdb'], lines.join('\n')).trim(), `${lines.length} imported`);
const back = exported();
assert.deepEqual(back, [...lines].sort());

// And it reads the same tuple; order of bytes is order of tuples.
for (const line of back) {
  const {key} = JSON.parse(line);
  assert.deepEqual(tuple.unpack(Buffer.from(key, 'hex')), keys.get(key));
}

// Keys of vestq's own jobs.
const id = run(['enqueue', 'fdb-b', 'x', '--space', 'own', '--priority', '77', '--at', '4000000000000']).trim();
const own = exported().filter((line) => !back.includes(line));
assert.equal(own.length, 1);
const number = Buffer.alloc(8);
number.writeBigUInt64BE(BigInt(id));
assert.deepEqual(tuple.unpack(Buffer.from(JSON.parse(own[0]).key, 'hex')),
                 ['queue', 1, 'fdb-b', 'own', 4000000000000, 77, number]);
