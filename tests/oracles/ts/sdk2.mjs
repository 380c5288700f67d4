// The 2.x client: node sdk2.mjs MODE COMMAND [ARGUMENT…]|URL [TOKEN]
// MODE: `default`; `auto`, which finds the newest revision; or the date of the one handshake revision to speak.
import { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';

import { attempt, converse, report } from './conversation.mjs';
import { transportTo } from './transport.mjs';

const [mode, ...server] = process.argv.slice(2);
const options =
  mode === 'default' ? {}
  : mode === 'auto' ? { versionNegotiation: { mode } }
  : { supportedProtocolVersions: [mode] };
const client = new Client({ name: 'judge', version: '1' }, options);
const transport = await transportTo(2, ...server);

const describe = () => ({
  version: client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  discovered: client.getDiscoverResult(),
});
const callTool = (params, options) => client.callTool(params, options);
const request = (method, params) => client.request({ method, params }, z.looseObject({}));

async function listen(end) {
  const subscription = await client.listen({ toolsListChanged: true, promptsListChanged: true });
  await end(subscription);
  return { honoured: subscription.honoredFilter, closed: await subscription.closed };
}

async function whatOnlyTheNewestHas() {
  return {
    discoveredAgain: await attempt(() => client.discover()),
    listened: await attempt(() => listen(subscription => subscription.close())),
    // The last step, because the server is gone after it; one that others use as well is not ours to end.
    listenedToTheEnd: transport.pid && (await attempt(() => listen(() => process.kill(transport.pid, 'SIGTERM')))),
  };
}

await report(client, transport, describe, async () => ({
  ...(await converse(client, callTool, request)),
  ...(mode === 'auto' ? await whatOnlyTheNewestHas() : {}),
}));
