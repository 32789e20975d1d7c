// The life of a job through node-redis, as it is: node node_redis_life.mjs PORT
import {createClient, RESP_TYPES} from 'redis';
import {life} from './life.mjs';

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
  if (!(await client.info()).includes('redis_version:')) throw new Error('INFO');
  await worker.close();
  await client.close();
}
