// The 2.x client and the `mcpkg` contract: node mcpkg2.mjs MODE COMMAND [ARGUMENT…]|URL [TOKEN]
// MODE: `default`; or `auto`, which finds the newest revision.
import { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';

import { attempt, report } from './conversation.mjs';
import { converse } from './mcpkg.mjs';
import { transportTo } from './transport.mjs';

const [mode, ...server] = process.argv.slice(2);
const options = mode === 'auto' ? { versionNegotiation: { mode } } : {};
const client = new Client({ name: 'judge', version: '1' }, options);
const transport = await transportTo(2, ...server);

const describe = () => ({
  version: client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  discovered: client.getDiscoverResult(),
});
const request = (method, params) => client.request({ method, params }, z.looseObject({}));

async function listen() {
  const wish = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['file:///blob.bin'],
  };
  const subscription = await client.listen(wish);
  await subscription.close();
  return subscription.honoredFilter;
}

await report(client, transport, describe, async () => ({
  ...(await converse(client, request)),
  ...(mode === 'auto' ? { listened: await attempt(listen) } : {}),
}));
